"""Training of LightXML: one network, whose current mistakes are its negatives."""

from __future__ import annotations

from longtail.methods.lightxml.settings import Config
from longtail.methods.shared.clustered.learn import Network, batches_of, encoder_on, heads_on, start_reading
from longtail.methods.shared.clustered.model import ClusteredEncoder
from longtail.methods.shared.clustered.stages import Data
from longtail.train.loop import seeded
from longtail.train.run import Run


def learn(data: Data, config: Config, run: Run) -> ClusteredEncoder:
    """Train encoder, generator and discriminator together (Algorithm 1)."""
    with seeded(config.seed):
        encoder = encoder_on(data, config)
        heads = heads_on(encoder, data, config)
    start_reading(heads, data, config, run)
    network = Network(encoder, heads, config.eps)
    documents, valid = batches_of(data)
    run.train("lightxml", network, documents, config.optim, seed=config.seed, valid=valid)
    return ClusteredEncoder(network.encoder.export(), network.heads.export())
