"""Languages without spaces between words, as Chinese, Japanese and Thai: overlapping runs of characters instead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from longtail.corpus import Texts
from longtail.features.tokens import ENOUGH_BYTES, Tokens, chunks
from longtail.invariants import Unsound
from longtail.progress import steps

# Thai, Lao, Myanmar, Khmer, kana, and Chinese characters, inside the brackets of a pattern.  Korean has spaces.
UNSPACED_RANGES = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\U00020000-\U0003ffff"
)
UNSPACED = re.compile(f"[{UNSPACED_RANGES}]")
LETTER = re.compile(r"\w")
SAMPLE = 1000  # texts that are looked at
SHARE = 0.2  # of the letters: a Chinese character says as much as several Latin ones


def is_unspaced(texts: Texts) -> bool:
    """Whether at least a fifth of the letters belong to scripts without spaces.

    >>> is_unspaced(Texts.of(["红色的狐狸"])), is_unspaced(Texts.of(["the quick red fox, 狐狸"]))
    (True, False)
    """
    rows = np.unique(np.linspace(0, len(texts) - 1, min(SAMPLE, len(texts))).astype(np.int64))
    if not len(rows) or texts.data.max(initial=0) < FIRST_BYTE:
        return False
    sample = " ".join(texts[int(row)] for row in rows)
    unspaced = len(UNSPACED.findall(sample))
    return 0 < unspaced >= SHARE * len(LETTER.findall(sample))


FIRST_BYTE = 0xE0  # no character of these scripts begins with a smaller byte


# -- tokens ---------------------------------------------------------------------------------------------------------

LONGEST, OF_HAN = 3, 2  # characters; most Chinese words have two, and longer runs of them only add noise
MOST = 500_000  # different ones that are known
UNMET = 0
RUN = re.compile(rf"[{UNSPACED_RANGES}]+|(?:(?![{UNSPACED_RANGES}])\w){{2,}}")
HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")


@dataclass(frozen=True)
class Grams:
    """One to three neighbouring characters of a script without spaces, one or two if all are Chinese; and other words.

    It stands where a tokenizer stands: see `tokens.Subwords`.

    >>> grams = Grams.of(Texts.of(["红狐狸 fox"]))
    >>> [grams.names[number] for number in grams.encode(Texts.of(["狐狸, a Fox"]))[0]]
    ['狐', '狐狸', '狸', 'fox']
    """

    names: list[str]  # the first is empty: what was not met before

    def check(self) -> None:
        """There is a number for what was not met."""
        if self.names[:1] != [""]:
            raise Unsound("the first name must be empty")

    @classmethod
    def of(cls, texts: Texts) -> Grams:
        """Those of the texts, or of every so many-th where they are long; the most frequent where there are many."""
        texts = texts[:: max(1, round(int((texts.stops - texts.starts).sum()) / ENOUGH_BYTES))]
        counts: Counter[str] = Counter()
        for chunk in steps(chunks(texts), "counting characters"):
            counts.update(chain.from_iterable({name for name, _, _ in located(text)} for text in chunk))
        kept = sorted(counts, key=lambda name: (-counts[name], name))[:MOST]
        return cls(["", *sorted(kept)])

    @property
    def is_plain(self) -> bool:
        """Compiled code does not find them."""
        return False

    @property
    def special(self) -> list[int]:
        """The one that stands for no text."""
        return [UNMET]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def encode(self, texts: Texts) -> Tokens:
        """Their numbers in each text; UNMET where one was not met before."""
        known = self._numbers.get
        rows = ([known(name, UNMET) for name, _, _ in located(text)] for text in texts)
        return Tokens.of(rows)


def located(text: str) -> Iterator[tuple[str, int, int]]:
    """Every token of a text in its order, with the characters that it stands for."""
    for found in RUN.finditer(text):
        run, start = found.group(), found.start()
        if UNSPACED.match(run) is None:
            yield run.lower(), start, found.end()
            continue
        for at in range(len(run)):
            for stop in range(at + 1, min(at + LONGEST, len(run)) + 1):
                gram = run[at:stop]
                if len(gram) <= OF_HAN or HAN.fullmatch(gram) is None:
                    yield gram, start + at, start + stop


def characters_of(text: str) -> list[str]:
    """Single characters of scripts without spaces, and words of others.

    >>> characters_of("Fox 狐狸")
    ['fox', '狐', '狸']
    """
    return [name for name, start, stop in located(text) if stop == start + 1 or UNSPACED.match(name) is None]
