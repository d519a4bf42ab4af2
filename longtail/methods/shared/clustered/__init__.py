"""An encoder with two heads: one scores clusters of labels, the other the labels inside them.

The network of LightXML, also used by GUDN.  Both methods save the same model.

    text ──encoder──► e ──generator──► clusters ──their labels──► candidates ──discriminator──► σ(label)·σ(cluster)

    settings.py   settings
    stages.py     preparation of training data, and resource estimate
    model.py      inference
    learn.py      training
"""
