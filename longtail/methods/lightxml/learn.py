"""The half of LightXML that learns: one network, whose present mistakes are its negatives."""

from __future__ import annotations

from longtail.encoders.learn.transformer import TransformerEncoder
from longtail.methods.lightxml.settings import Config
from longtail.methods.shared.clustered_transformer.learn import Network, heads_on, start_reading
from longtail.methods.shared.clustered_transformer.model import ClusteredTransformer
from longtail.methods.shared.clustered_transformer.stages import Data
from longtail.methods.shared.learn.transformer_reading import batches_of
from longtail.train.loop import seeded
from longtail.train.run import Run


def learn(data: Data, config: Config, run: Run) -> ClusteredTransformer:
    """Transformer, generator and discriminator together (Algorithm 1)."""
    with seeded(config.seed):
        encoder = TransformerEncoder(data.read.start, config.reading)
        heads = heads_on(encoder, data, config.recall)
    start_reading(heads, data, config.reading, config.recall, run)
    network = Network(encoder, heads, config.reading.dropout, config.head_lr, config.head_eps)
    documents, valid = batches_of(data.read, data.train, data.valid)
    run.train("lightxml", network, documents, config.optim, seed=config.seed, valid=valid)
    return ClusteredTransformer(network.encoder.export(), network.heads.export())
