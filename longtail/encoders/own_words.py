"""Words of a corpus that its transformer knows only in pieces become tokens of their own.

A transformer's tokens were chosen by the texts it was made with, and where a corpus speaks of other things, the words
that decide arrive in pieces: "dns" as d ##ns, "gtk" as g ##tk.  A word met often enough gets one token, whose vector
starts at the mean of its pieces' and learns like any other's.  Texts become shorter by it, so they are read faster, and
more of a long one is.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from longtail.corpus import Texts
from longtail.encoders.transformer import Transformer
from longtail.features.tokens import Subwords, Tokens, Words


def own_words(subwords: Subwords, documents: Texts, labels: Texts, times: int) -> Texts:
    """Words met so often in these texts for which there is no token, the most frequent first, in lower case."""
    words = Words()
    met = [words.learn(texts).ids for texts in (documents, labels)]
    counts = np.bincount(np.concatenate(met), minlength=len(words))
    often = np.flatnonzero(counts >= times)
    often = often[np.argsort(-counts[often], kind="stable")]
    spelled = list(words)
    candidates = Texts.of(spelled[number] for number in often.tolist())
    pieces = pieces_of(subwords, candidates)
    unknown = set(subwords.special)
    return candidates[[at for at in range(len(pieces)) if len(pieces[at]) != 1 or int(pieces[at][0]) in unknown]]


def pieces_of(subwords: Subwords, words: Texts) -> Tokens:
    """Each word's pieces in the middle of a text, where to some tokenizers it begins with the space in front."""
    return subwords.encode(Texts.of(f" {word}" for word in words))


def with_words(start: Transformer, words: Texts) -> Transformer:
    """The transformer with a token for each of the words; what it read before, but for these, it reads as before."""
    from longtail.encoders.transformer_layers import name_of_words

    table = name_of_words(start)
    vectors, pieces = start.weights[table], pieces_of(start.pieces.subwords, words)
    subwords, numbers = taught(start.pieces.subwords, words)
    grown = np.zeros((max(len(vectors), max(numbers, default=-1) + 1), vectors.shape[1]), np.float32)
    grown[: len(vectors)] = vectors
    for at, number in enumerate(numbers):
        grown[number] = vectors[pieces[at]].mean(axis=0) if len(pieces[at]) else 0
    return replace(
        start,
        architecture=start.architecture | {"vocab_size": len(grown)},
        weights=start.weights | {table: grown},
        pieces=replace(start.pieces, subwords=subwords),
    )


def taught(subwords: Subwords, words: Texts) -> tuple[Subwords, list[int]]:
    """The tokenizer with these words as tokens, wherever they stand whole, and their numbers."""
    from tokenizers import AddedToken, Tokenizer

    tokenizer = Tokenizer.from_str(json.dumps(subwords.tokenizer))
    # Taken with the space in front, as tokenizers that know spaces take theirs; the others drop spaces anyway.
    tokenizer.add_tokens([AddedToken(word, single_word=True, lstrip=True, normalized=True) for word in words])
    numbers = tokenizer.get_vocab()
    return Subwords(json.loads(tokenizer.to_str())), [numbers[word] for word in words]
