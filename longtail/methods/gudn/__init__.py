"""GUDN: the names of a document's labels, read by the same transformer, guide it to vectors that tell labels apart.

Wang et al., 2022, arXiv:2201.11582.  Where we differ on purpose, docs/methods/gudn.md says why.

    text ────────transformer──► E_t ──────► ranking classifier ──► labels         L_class
                     ║           │ each finds the other                           L_feature   while learning only
    label names ─────╨──────► E_l ──────► the same classifier ───► labels         L_link      while learning only

    paper       here             meaning
    E_t, E_l    TransformerEncoder   what the last layers say of the text, and of the joined label names
    L_feature   feature_guide        weight of (2): both vectors should be one, or find each other (guide_by)
    L_link      link_guide           weight of (3): label names should lead to their labels
    L_class     Heads                (5): LightXML's loss, on all labels or on clusters of them

A trained model is LightXML's, for nothing of the guide is left in it; what learns is in gudn/learn.py.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Literal

from longtail.config import setting
from longtail.corpus import Corpus, LabelSet, Texts
from longtail.encoders.transformer import Reading
from longtail.errors import ConfigError
from longtail.methods.lightxml import LightXML, Recall, needs, prepare, refuse_rates
from longtail.train.run import Need, Run
from longtail.train.settings import Optim


@dataclass(frozen=True)
class Config:
    """Defaults are for two cores; configs/gudn/paper.toml has the paper's."""

    encoder: str = setting(
        "sentence-transformers/all-MiniLM-L6-v2",
        "transformer to start from: a hub name, a local directory, or package:NAME of an installed package",
        "bert-base-uncased",
    )
    reading: Reading = setting(Reading(layers=10), "how it reads")
    labels: Literal["names", "one-hot"] = setting(
        "names", "what the guide reads: label names, or a vector for each label that says nothing at first", "Table 4"
    )
    label_tokens: int = setting(64, "tokens of a document's joined label names that are read", "512")
    feature_guide: float = setting(1.0, "weight of L_feature; 0 switches it off", "1; Table 3: GUD-F")
    guide_by: Literal["distance", "contrast"] = setting(
        "contrast",
        "L_feature: both vectors should be one, or find each other in a batch; distances want a weight of 0.02",
        "distance",
    )
    guide_centred: bool = setting(
        True, "L_feature compares what is left of texts and label names without the mean of each in a batch", "false"
    )
    link_guide: float = setting(1.0, "weight of L_link; 0 switches it off", "1; Table 3: GUD-L")
    guide_until: float | None = setting(
        None, "share of the training over which both guides fade away, and are no longer read; none: they stay", "none"
    )
    recall: Recall = setting(Recall(start="texts"), "which labels are looked at")
    head_lr: float = setting(5e-3, "peak learning rate of classifier and label vectors", "authors' code: 5e-5")
    head_eps: float = setting(1e-8, "Adam's ε for heads that score all labels: smaller gradients hardly move them")
    optim: Optim = setting(
        Optim(lr=1e-4, epochs=5, batch_size=32, schedule="linear", warmup=0.05, weight_decay=0.01),
        "how the transformer learns; rates of heads follow its schedule",
        "section 4.2",
    )
    valid_documents: int = setting(1000, "documents of the validation split, or of train, that choose the weights kept")
    seed: int = setting(0, "draws clusters, first weights, order and dropout; members of an ensemble differ in it")

    def __post_init__(self) -> None:
        if min(self.feature_guide, self.link_guide) < 0:
            raise ConfigError("feature_guide and link_guide are weights: 0 or more")
        refuse_rates(self.head_lr, self.head_eps)
        if self.guide_until is not None and not 0 < self.guide_until <= 1:
            raise ConfigError("guide_until is a share of the training, as 0.5 for its first half; none: guides stay")

    @property
    def guided(self) -> bool:
        """Whether any guide is switched on."""
        return self.feature_guide > 0 or self.link_guide > 0


def fit(corpus: Corpus, config: Config, run: Run) -> LightXML:
    """Tokens of texts and of label names, clusters where labels are many, then transformer and heads under guidance."""
    from longtail.methods.gudn.learn import learn

    data = prepare(corpus, config.encoder, config.reading, config.recall, config.valid_documents, config.seed, run)
    if config.guided and config.labels == "names":
        warn_of_symbols(corpus.label_set, run)
    names = run.stage("label-names", data.start.pieces.subwords.encode, as_words(corpus.label_set.names))
    return learn(data, names, config, run)


def as_words(names: Texts) -> Texts:
    """Names as they stand in the middle of a text, which to some tokenizers begins with the space in front."""
    return Texts.of(f" {name.replace('_', ' ')}" for name in names)


# Two letters in a row, or one of a script that needs no more: "08P01B" and "++++" have neither.
WORD = re.compile(r"[^\W\d_]{2}|[^\x00-\u024F\W\d_]")


def warn_of_symbols(label_set: LabelSet, run: Run) -> None:
    """Say so when most label names are numbers and signs: a guide that says nothing guides nowhere."""
    symbols = [name for name in label_set.names if not WORD.search(name)]
    if 2 * len(symbols) <= len(label_set):
        return
    line = (
        f"{len(symbols):,} of {len(label_set):,} label names hold no word, as {symbols[0]!r}: GUDN learns from what "
        "label names say, and these say nothing, so it will not do better than lightxml; give the labels names"
    )
    run.log("warning", warning=line)
    run.say(f"warning: {line}") if run.shows else warnings.warn(line, stacklevel=2)


def need(corpus: Corpus, config: Config) -> Need:
    """As LightXML's, with a second text a document while learning."""
    one = needs(corpus, config.encoder, config.reading, config.recall, config.optim)
    return Need(one.parameters, 2 * one.memory if config.guided else one.memory, one.disk)
