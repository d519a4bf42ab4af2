"""Texts as a transformer reads them: pieces of words between its special tokens, cut at a length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longtail.corpus import Texts
from longtail.errors import ConfigError
from longtail.features.tokens import Subwords, Tokens
from longtail.invariants import Unsound


@dataclass(frozen=True)
class Pieces:
    """A transformer's tokenizer, and where among its tokens the one stands that speaks for the whole text.

    BERT, RoBERTa and their kin put it first: [CLS] … [SEP].  XLNet puts it last: … <sep> <cls>.
    """

    subwords: Subwords
    before: tuple[int, ...]  # special tokens in front of a text,
    behind: tuple[int, ...]  # and behind it
    pad: int  # the token that stands for nothing
    first: bool  # whether [CLS] is the first token; else it is the last
    segment: int  # the segment of [CLS]; all other tokens are in segment 0
    max_tokens: int  # that are read of a text, special ones included
    longest: int  # text that the transformer can read

    def __post_init__(self) -> None:
        if self.max_tokens > self.longest:
            raise ConfigError(f"{self.max_tokens} tokens of a text: this encoder reads at most {self.longest}")
        if self.room < 1:
            raise ConfigError(f"{self.max_tokens} tokens of a text: special ones take {self.specials} of them")

    def check(self) -> None:
        """Every number is that of a token."""
        if min(*self.before, *self.behind, self.pad, self.segment, self.max_tokens) < 0:
            raise Unsound("special tokens, the segment and max_tokens are 0 or more")

    @property
    def largest(self) -> int:
        """The largest token number that a text can have."""
        return max(len(self.subwords.names) - 1, *self.before, *self.behind, self.pad)

    @property
    def specials(self) -> int:
        """How many tokens every text has, even one without words."""
        return len(self.before) + len(self.behind)

    @property
    def room(self) -> int:
        """How many of a text's own tokens are read."""
        return self.max_tokens - self.specials

    def encode(self, texts: Texts) -> Tokens:
        """Token numbers of each text, special tokens around them, at most `max_tokens`."""
        return self.framed(self.subwords.encode(texts))

    def framed(self, tokens: Tokens) -> Tokens:
        """The first tokens of each text with the special ones around them."""
        lengths = np.minimum(np.diff(tokens.offsets), self.room)
        offsets = np.append(0, np.cumsum(lengths + self.specials))
        starts, stops = offsets[:-1], offsets[1:]
        ids = np.empty(offsets[-1], np.int32)
        for at, token in enumerate(self.before):
            ids[starts + at] = token
        for at, token in enumerate(reversed(self.behind), 1):
            ids[stops - at] = token
        # Token j of all that are kept comes from j + (where its text starts in `tokens` - where among the kept).
        kept = np.arange(lengths.sum())
        before = np.cumsum(lengths) - lengths
        inside = kept + np.repeat(starts + len(self.before) - before, lengths)
        ids[inside] = tokens.ids[kept + np.repeat(tokens.offsets[:-1] - before, lengths)]
        return Tokens(ids, offsets)
