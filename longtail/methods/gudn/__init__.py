"""GUDN: in training, the names of a document's labels, encoded by the same transformer, guide its text vectors.

Wang et al., 2022, arXiv:2201.11582.  Differences and their reasons: docs/methods/gudn.md.

    text ────────transformer──► E_t ──────► ranking classifier ──► labels         L_class
                     ║           │ aligned                                        L_feature   training only
    label names ─────╨──────► E_l ──────► the same classifier ───► labels         L_link      training only

    paper       here             meaning
    E_t, E_l    LearningEncoder      vectors of the text, and of the joined label names
    L_feature   feature_guide        weight of (2): distance or contrastive loss of both vectors (guide_by)
    L_link      Guided.link          (3): classify label names to their labels
    L_class     Heads                (5): LightXML's loss, on all labels or on clusters of them

Network and trained model are methods/shared/clustered, as in LightXML: the guide is not part of the model.
Training is in learn.py, the paper's one-hot labels (Table 4) and the authors' L_feature in ablations.py.  Guides are
switched off (Table 3) by variants.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from longtail.corpus import Corpus, LabelSet, Texts
from longtail.methods.gudn.settings import VARIANTS, Config, Variant
from longtail.methods.shared.clustered.model import ClusteredEncoder

if TYPE_CHECKING:
    from longtail.train.need import Need
    from longtail.train.run import Run

__all__ = ["VARIANTS", "Config", "fit", "need"]


def fit(corpus: Corpus, config: Config, run: Run, variant: Variant = Variant()) -> ClusteredEncoder:  # noqa: B008 - frozen
    """Tokenize texts and label names, cluster labels if many, then train encoder and heads with guides."""
    from longtail.methods.shared.clustered.stages import prepare
    from longtail.methods.shared.preparation import refuse_without_text

    refuse_without_text(corpus)  # label names are read whatever guides
    data = prepare(corpus, config, run)
    if variant.names and (variant.feature or variant.link):
        warn_of_symbols(corpus.label_set, run)
    names = data.source.names(as_words(corpus.label_set.names), config.label_tokens)
    if not variant.feature:
        config = replace(config, feature_guide=0.0)
    if not variant.names:
        from longtail.methods.gudn.ablations import learn_by_one_hot

        return learn_by_one_hot(data, names, config, run)
    if config.feature_guide and config.guide_by == "pooler":
        from longtail.methods.gudn.ablations import learn_by_pooler

        return learn_by_pooler(data, names, config, run, variant.link)
    from longtail.methods.gudn.learn import learn

    return learn(data, names, config, run, link=variant.link)


def as_words(names: Texts) -> Texts:
    """Names with a leading space, since some tokenizers encode words inside a text with it."""
    return Texts.of(f" {name.replace('_', ' ')}" for name in names)


# Two letters in a row, or one of a script without multi-letter words: "08P01B" and "++++" have neither.
WORD = re.compile(r"[^\W\d_]{2}|[^\x00-\u024F\W\d_]")


def warn_of_symbols(label_set: LabelSet, run: Run) -> None:
    """Warn if most label names are codes or symbols, which are useless as guides."""
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
    """Estimate as for LightXML, with a second text per document in training."""
    from longtail.methods.shared.clustered import stages
    from longtail.train.need import Need

    one = stages.need(corpus, config)
    return Need(one.parameters, 2 * one.memory, one.disk)
