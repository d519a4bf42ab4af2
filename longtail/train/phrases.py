"""Descriptions of stages and trainings for users.

A run stores stages under short names, as in stages/tree-1-level-2, and displays a phrase, as in "training the
classifiers of tree 1, level 2".  # stands for a number; {0} is the first number of a name, and {next} that plus one.
"""

from __future__ import annotations

import re

PHRASES = {
    # texts and features
    "words": "learning the vocabulary",
    "features": "weighing the words of documents",
    "documents": "weighing the words of documents",
    "valid-documents": "weighing the words of validation documents",
    "label-texts": "reading the texts of labels",
    "label-tokens": "splitting the texts of labels into tokens",
    "label-start": "reading the texts of labels",
    "tokens": "splitting documents into tokens",
    "valid-tokens": "splitting validation documents into tokens",
    "encoder": "loading the pretrained encoder",
    "pooler": "loading the pretrained pooler",
    "center": "computing the mean vector of documents",
    "token-vectors": "making the first word vectors",
    "vectors": "computing the vectors of documents",
    "kept-documents": "keeping documents for explanations",
    # clusters of labels
    "clusters": "grouping labels into clusters",
    "clusters-again": "grouping labels into clusters again",
    "clusters-0": "grouping labels into clusters again",
    "clusters-#": "grouping labels into clusters again, for instance {next}",
    "tree-#": "grouping labels into the clusters of tree {0}",
    "graph": "linking labels to further clusters",
    # training
    "centroids": "computing the centroids of labels",
    "tree-#-level-#": "training the classifiers of tree {0}, level {1}",
    "surrogate": "training word vectors on clusters",
    "shortlister-0": "training the classifiers of clusters",
    "shortlister-#": "training the classifiers of clusters, for instance {next}",
    "shortlists-0": "finding the clusters of every document",
    "shortlists-#": "finding the clusters of every document, for instance {next}",
    "ranker-0": "training the classifiers of labels",
    "ranker-#": "training the classifiers of labels, for instance {next}",
    "label-encoder-#": "training the encoder of labels, round {next}",
    "labels-#": "finding candidate labels of every document, round {next}",
    "shortlists": "finding candidate labels of every document",
    "re-ranker": "training the re-ranker",
    "labels-last": "finding candidate labels with the final encoder",
    "classifiers": "training the classifiers of labels",
    "lightxml": "training encoder and classifiers",
    "gudn": "training encoder and classifiers",
    "recall": "training encoder and classifiers of clusters",
    "opened": "finding the clusters of every document",
    "rank": "training the classifiers of labels",
    "warm-up": "training the encoder for better clusters",
    "warm-up-vectors": "computing the vectors of documents",
    "stage-1": "training encoder and classifiers, stage 1 of 2",
    "stage-2": "training encoder, index and classifiers, stage 2 of 2",
    "one-vs-all": "training encoder and classifiers of all labels",
    # the sparse ranker after another method
    "proposed": "proposing labels for every document",
    "ranker-words": "learning the vocabulary of the sparse ranker",
    "ranker-features": "weighing words for the sparse ranker",
    "ranker": "training the sparse ranker",
    "weighed": "weighing both rankers against each other",
    # the end
    "judged": "ranking some training documents to check the model",
    "model": "writing the model",
}


def phrase(name: str) -> str:
    """Description of a stage; its name if there is none.

    >>> phrase("tree-1-level-2"), phrase("clusters-0"), phrase("clusters-3"), phrase("mine")  # doctest: +ELLIPSIS
    ('training the classifiers of tree 1, level 2', ..., 'grouping labels into clusters again, for instance 4', 'mine')
    """
    numbers = [int(number) for number in re.findall(r"\d+", name)]
    told = PHRASES.get(name) or PHRASES.get(re.sub(r"\d+", "#", name), name)
    return told.format(*numbers, next=numbers[0] + 1) if numbers and told != name else told
