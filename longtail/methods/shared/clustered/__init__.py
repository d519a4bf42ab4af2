"""An encoder and, on its vectors, heads that find clusters of labels and rank the labels inside them.

LightXML's network, which GUDN trains under guidance.  Both methods save the same model.

    text ──encoder──► e ──generator──► clusters ──their labels──► candidates ──discriminator──► σ(label)·σ(cluster)

    settings.py   which labels are looked at, and how all of it learns
    stages.py     everything before the first step, and what a training takes
    model.py      what answers
    learn.py      what learns
"""
