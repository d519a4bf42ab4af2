"""GUDN: the names of a document's labels, read by the same transformer, guide it to vectors that tell labels apart.

Wang et al., 2022, arXiv:2201.11582.  Where we differ on purpose, docs/methods/gudn.md says why.

    text ────────transformer──► E_t ──────► ranking classifier ──► labels         L_class
                     ║           │ each finds the other                           L_feature   while learning only
    label names ─────╨──────► E_l ──────► the same classifier ───► labels         L_link      while learning only

    paper       here             meaning
    E_t, E_l    LearningEncoder      what the encoder says of the text, and of the joined label names
    L_feature   feature_guide        weight of (2): both vectors should be one, or find each other (guide_by)
    L_link      link_guide           weight of (3): label names should lead to their labels
    L_class     Heads                (5): LightXML's loss, on all labels or on clusters of them

Network and trained model are methods/shared/clustered, as LightXML's: nothing of the guide is left in the
model.  What learns is in learn.py, the paper's one-hot labels (Table 4) in ablations.py.
"""

from __future__ import annotations

import re
import warnings

from longtail.corpus import Corpus, LabelSet, Texts
from longtail.methods.gudn.settings import VARIANTS, Config, Variant
from longtail.methods.shared.clustered import stages
from longtail.methods.shared.clustered.model import ClusteredEncoder
from longtail.methods.shared.preparation import refuse_without_text
from longtail.train.run import Need, Run

__all__ = ["VARIANTS", "Config", "fit", "need"]


def fit(corpus: Corpus, config: Config, run: Run, variant: Variant = "names") -> ClusteredEncoder:
    """Tokens of texts and of label names, clusters where labels are many, then encoder and heads under guidance."""
    refuse_without_text(corpus)  # label names are read whatever guides
    data = stages.prepare(corpus, config, run)
    if config.guided and variant == "names":
        warn_of_symbols(corpus.label_set, run)
    names = data.source.names(as_words(corpus.label_set.names), config.label_tokens)
    if config.guided and variant == "one-hot":
        from longtail.methods.gudn.ablations import learn_by_one_hot

        return learn_by_one_hot(data, names, config, run)
    from longtail.methods.gudn.learn import learn

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
    one = stages.need(corpus, config)
    return Need(one.parameters, 2 * one.memory if config.guided else one.memory, one.disk)
