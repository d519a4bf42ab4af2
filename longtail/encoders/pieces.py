"""Tokenization for transformers: word pieces between special tokens, truncated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from longtail.corpus import Texts
from longtail.errors import ConfigError
from longtail.features.tokens import Subwords, Tokens
from longtail.invariants import Unsound


@dataclass(frozen=True)
class Pieces:
    """A transformer's tokenizer, its special tokens, and the position of [CLS].

    BERT, RoBERTa and similar models put it first: [CLS] … [SEP].  XLNet puts it last: … <sep> <cls>.
    """

    subwords: Subwords
    before: tuple[int, ...]  # special tokens before a text
    behind: tuple[int, ...]  # special tokens after a text
    pad: int  # id of the padding token
    first: bool  # whether [CLS] is the first token, else the last
    segment: int  # the segment of [CLS]; all other tokens are in segment 0
    max_tokens: int  # per text, including special ones
    longest: int  # text the transformer supports, in tokens

    def __post_init__(self) -> None:
        if self.max_tokens > self.longest:
            raise ConfigError(f"{self.max_tokens} tokens of a text: this encoder reads at most {self.longest}")
        if self.room < 1:
            raise ConfigError(f"{self.max_tokens} tokens of a text: special ones take {self.specials} of them")

    def check(self) -> None:
        """Raise Unsound unless every id is a token of the vocabulary."""
        if min(*self.before, *self.behind, self.pad, self.segment, self.max_tokens) < 0:
            raise Unsound("special tokens, the segment and max_tokens are 0 or more")

    @property
    def largest(self) -> int:
        """The largest token id of a text."""
        return max(len(self.subwords.names) - 1, *self.before, *self.behind, self.pad)

    @property
    def specials(self) -> int:
        """Number of special tokens of a text."""
        return len(self.before) + len(self.behind)

    @property
    def room(self) -> int:
        """Number of tokens of a text without special ones."""
        return self.max_tokens - self.specials

    def encode(self, texts: Texts) -> Tokens:
        """Token ids of each text with special tokens, at most `max_tokens`; long texts are cut as they are read."""
        return Tokens.joined(map(self.framed, self.subwords.encoded(texts)))

    def framed(self, tokens: Tokens) -> Tokens:
        """Truncate each text and add special tokens."""
        lengths = np.minimum(np.diff(tokens.offsets), self.room)
        offsets = np.append(0, np.cumsum(lengths + self.specials))
        starts, stops = offsets[:-1], offsets[1:]
        ids = np.empty(offsets[-1], np.int32)
        for at, token in enumerate(self.before):
            ids[starts + at] = token
        for at, token in enumerate(reversed(self.behind), 1):
            ids[stops - at] = token
        # Kept token j is token j + (start of its text in `tokens` - start among the kept).
        kept = np.arange(lengths.sum())
        before = np.cumsum(lengths) - lengths
        inside = kept + np.repeat(starts + len(self.before) - before, lengths)
        ids[inside] = tokens.ids[kept + np.repeat(tokens.offsets[:-1] - before, lengths)]
        return Tokens(ids, offsets)
