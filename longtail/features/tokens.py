"""Text to token numbers: words as scikit-learn finds them, or subwords learned from the corpus."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from longtail.corpus import Texts
from longtail.errors import ModelError
from longtail.kernels.reading import LONGEST
from longtail.kernels.words import (
    CODE_POINTS,
    NO_LETTER,
    SPECIAL,
    Table,
    empty_table,
    number_words,
    spell_words,
    with_room,
)
from longtail.progress import steps
from longtail.sparse import frozen

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CHUNK = 1 << 18  # bytes of text worked on at a time: what is made of them still fits the cache


@dataclass(frozen=True)
class Tokens:
    """The token numbers of each text, end to end; UNKNOWN where a token has no number."""

    ids: np.ndarray  # (tokens,) int32
    offsets: np.ndarray  # (texts + 1,) int64: text i has ids[offsets[i] : offsets[i + 1]]

    @classmethod
    def of(cls, rows: Iterable[list[int]]) -> Tokens:
        """Build from one list of token numbers per text."""
        rows = list(rows)
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return cls(np.fromiter(chain.from_iterable(rows), np.int32, offsets[-1]), offsets)

    @classmethod
    def joined(cls, parts: Iterable[Tokens]) -> Tokens:
        """Concatenate the tokens of consecutive texts; parts may come from a generator, and none is kept."""
        ids, lengths, part = bytearray(), [np.empty(0, np.int64)], None
        for part in parts:
            ids += np.ascontiguousarray(part.ids, np.int32).data  # grows in place, where memory allows
            lengths.append(np.diff(part.offsets))
        if part is not None and len(lengths) == 2:
            return part
        return cls(np.frombuffer(ids, np.int32), np.append(0, np.cumsum(np.concatenate(lengths))))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, text: int) -> np.ndarray:
        return self.ids[self.offsets[text] : self.offsets[text + 1]]

    def renumbered(self, numbers: np.ndarray) -> Tokens:
        """The same tokens, renumbered: n becomes numbers[n]."""
        return Tokens(numbers[self.ids], self.offsets)


def chunks(texts: Texts) -> list[Texts]:
    """Consecutive slices of about CHUNK bytes, a longer text in a slice of its own."""
    lengths = texts.stops - texts.starts
    total = int(lengths.sum())
    if total <= CHUNK:
        return [texts]
    cuts = np.searchsorted(np.cumsum(lengths), np.arange(CHUNK, total, CHUNK)) + 1
    bounds = np.unique(np.concatenate([[0], cuts, [len(texts)]])).tolist()
    return [texts[start:stop] for start, stop in pairwise(bounds)]


# -- words --------------------------------------------------------------------------------------------------------


class Words:
    """Words and their numbers, 0, 1, 2, … in the order they were learned.

    A word is what scikit-learn's vectorisers take for one by default: two or more word characters (`\\w`) in a
    row, in the lower case of `str.lower`.

    >>> words = Words(["red", "fox"])
    >>> words.encode(Texts.of(["The RED fox", "a fox"]))[0]
    array([-1,  0,  1], dtype=int32)
    """

    def __init__(self, words: Iterable[str] = ()):
        self._table: Table = empty_table()
        self.learn(Texts.of(words))

    def __len__(self) -> int:
        return int(self._table.size[0])

    def __iter__(self) -> Iterator[str]:
        spelled = self._table.blocks[: self._table.begins[len(self)]].tobytes().decode("utf-8")
        return iter(spelled.replace("\0", " ").split())

    def learn(self, texts: Texts) -> Tokens:
        """The words of texts; those not seen before get the next numbers."""
        return Tokens.joined(self._learn_chunk(chunk) for chunk in chunks(texts))

    def _learn_chunk(self, chunk: Texts) -> Tokens:
        blocks, begins, offsets = _spelled(chunk)
        return Tokens(self._learn(blocks, begins), offsets)

    def absorb(self, others: Words) -> np.ndarray:
        """Learn the words of `others`: their numbers here, by their numbers there."""
        return self._learn(others._table.blocks, others._table.begins[: len(others) + 1])

    def _learn(self, blocks: np.ndarray, begins: np.ndarray) -> np.ndarray:
        self._table = with_room(self._table, len(begins) - 1, int(begins[-1]))
        return number_words(blocks, begins, self._table, True)

    def encode(self, chunk: Texts) -> Tokens:
        """Numbers of the known words of a chunk of text; others are UNKNOWN."""
        blocks, begins, offsets = _spelled(chunk)
        return Tokens(number_words(blocks, begins, self._table, False), offsets)


def _spelled(chunk: Texts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words of the chunk in blocks, where each begins, and where each text begins among them."""
    bounds = frozen(chunk.starts, np.int64), frozen(chunk.stops, np.int64)
    *words, whole = spell_words(frozen(chunk.data, np.uint8), *bounds, _lowers())
    return tuple(words) if whole else _spelled(Texts.of(text.lower() for text in chunk))


@cache
def _lowers() -> np.ndarray:
    """The lower case of each code point that is a word character, by Python's own account."""
    lowers = np.full(CODE_POINTS, NO_LETTER, np.int32)
    characters = np.arange(sys.maxunicode + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for run in re.finditer(r"\w+", characters):
        lowers[run.start() : run.end()] = np.arange(run.start(), run.end())
        for char in (char for char in run.group() if char != char.lower()):
            # İ becomes two characters, and what Σ becomes depends on its neighbours.
            simple = len(char.lower()) == 1 and ("a" + char).lower() == "a" + char.lower()
            lowers[ord(char)] = ord(char.lower()) if simple else SPECIAL
    return lowers


# -- subwords -----------------------------------------------------------------------------------------------------

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CONTINUED = "##"  # begins a WordPiece that does not begin its word

Kind = Literal["wordpiece", "bpe"]


@dataclass(frozen=True)
class Subwords:
    """A Hugging Face tokenizer, kept as its own JSON.

    >>> pieces = Subwords.train(Texts.of(["low lower lowest", "low slow"]), 60)
    >>> [pieces.names[token] for token in pieces.encode(Texts.of(["slow low"]))[0]]
    ['slow', 'low']
    """

    tokenizer: dict[str, Any]  # the content of a tokenizer.json

    @classmethod
    def train(cls, texts: Texts, vocabulary_size: int, kind: Kind = "wordpiece") -> Subwords:
        """Learn lower-case subwords from texts, or from every so many-th where they are long; the same every time."""
        texts = texts[:: max(1, round(int((texts.stops - texts.starts).sum()) / ENOUGH_BYTES))]
        tokenizer, trainer = _KINDS[kind](texts, vocabulary_size)
        tokenizer.train_from_iterator(_strings(texts), trainer, len(texts))
        content = json.loads(tokenizer.to_str())
        content["added_tokens"] = [token for token in content["added_tokens"] if token["content"] in SPECIAL_TOKENS]
        return cls(content)

    @classmethod
    def open(cls, path: Path) -> Subwords:
        """Read a tokenizer.json file."""
        try:
            opened = cls(json.loads(path.read_text("utf-8")))
            opened._tokenizer  # noqa: B018 - complains about what is not a tokenizer
        except (OSError, ValueError, RecursionError, ModelError) as error:
            raise ModelError(f"{path}: cannot be read as a tokenizer.json ({error})") from error
        return opened

    @cached_property
    def is_plain(self) -> bool:
        """Whether compiled code finds the same pieces: this is a WordPiece tokenizer as `train` makes it."""
        parts = {name: self.tokenizer.get(name) for name in _PLAIN}
        return parts == _PLAIN and _is_plain_model(self.tokenizer.get("model")) and _are_plain(self.added_tokens)

    @property
    def added_tokens(self) -> Any:  # noqa: ANN401 - whatever the file holds
        """Tokens that are matched before all others."""
        return self.tokenizer.get("added_tokens")

    @cached_property
    def names(self) -> list[str]:
        """The token of each number; empty where a number is not used."""
        numbers = self.tokenizer["model"]["vocab"] if self.is_plain else self._tokenizer.get_vocab()
        largest = max(numbers.values(), default=-1)
        if largest >= MOST_TOKENS:
            raise ModelError(
                f"a tokenizer has token number {largest}, and the largest that is read is {MOST_TOKENS - 1}"
            )
        names = [""] * (largest + 1)
        for name, number in numbers.items():
            names[number] = name
        return names

    @cached_property
    def special(self) -> list[int]:
        """Numbers of special tokens."""
        return [number for number, token in self._tokenizer.get_added_tokens_decoder().items() if token.special]

    def encode(self, texts: Texts) -> Tokens:
        """Numbers of the subwords of each text, without special tokens around them."""
        return Tokens.joined(self.encoded(texts))

    def encoded(self, texts: Texts) -> Iterator[Tokens]:
        """The same, of some texts at a time."""
        return (self._encode(chunk) for chunk in steps(chunks(texts), "splitting texts"))

    def _encode(self, chunk: Texts) -> Tokens:
        with _tokenizing():
            encodings = self._tokenizer.encode_batch_fast(list(_strings(chunk)), add_special_tokens=False)
        tokens = Tokens.of(encoding.ids for encoding in encodings)
        if tokens.ids.max(initial=-1) >= len(self.names):
            raise ModelError("a tokenizer makes tokens that its vocabulary does not have")
        return tokens

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        with _tokenizing():
            tokenizer = Tokenizer.from_str(json.dumps(self.tokenizer))
            # Files of published models often ask for padding and for cuts at some length.
            tokenizer.no_padding()
            tokenizer.no_truncation()
        return tokenizer


MOST_TOKENS = 10_000_000

# What tokenizers of our own have in their files, beside model and added tokens.
_PLAIN = {
    "normalizer": {
        "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": None,
}  # fmt: skip


def _is_plain_model(model: object) -> bool:
    if not isinstance(model, dict):
        return False
    settings = {name: value for name, value in model.items() if name != "vocab"}
    plain = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": CONTINUED,
             "max_input_chars_per_word": LONGEST}  # fmt: skip
    return settings == plain and _is_plain_vocabulary(model.get("vocab"))


def _is_plain_vocabulary(vocab: object) -> bool:
    """Names with numbers of their own, the unknown token among them, and no more text than a trie has nodes for."""
    if not isinstance(vocab, dict) or "[UNK]" not in vocab:
        return False
    numbers = set(vocab.values())
    return (
        len(numbers) == len(vocab)
        and all(type(number) is int and 0 <= number < MOST_TOKENS for number in numbers)
        and sum(map(len, vocab)) < MOST_LETTERS
    )


def _are_plain(added: object) -> bool:
    """Whether added tokens are those special ones, all of them in brackets, and are found as they are written."""
    if not isinstance(added, list):
        return False
    named = [token.get("content") for token in added if isinstance(token, dict)]
    alone = [any(token.get(name) for name in ("single_word", "lstrip", "rstrip", "normalized")) for token in added]
    return len(named) == len(added) and set(named) <= set(SPECIAL_TOKENS) and not any(alone)


MOST_LETTERS = 1 << 21  # of all pieces together


@contextmanager
def _tokenizing() -> Iterator[None]:
    """Within, whatever the tokenizers package raises becomes a ModelError; a panic of its Rust code is no Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise ModelError(f"a tokenizer cannot be used: {error}; copy the model again, or train it anew") from error


def _wordpiece(texts: Texts, size: int) -> tuple[Tokenizer, Any]:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # Left alone, the trainer numbers the letters by the iteration order of a randomly seeded map and breaks ties by
    # these numbers: two runs, two vocabularies.  Letters named as special tokens are numbered in our order instead.
    alphabet = _alphabet(texts, tokenizer.normalizer.normalize_str, at_most=min(1000, size // 4))
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        show_progress=False,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        special_tokens=SPECIAL_TOKENS + alphabet + [CONTINUED + letter for letter in alphabet],
        continuing_subword_prefix=CONTINUED,
    )
    return tokenizer, trainer


def _bpe(texts: Texts, size: int) -> tuple[Tokenizer, Any]:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=SPECIAL_TOKENS,
    )
    return tokenizer, trainer


_KINDS = {"wordpiece": _wordpiece, "bpe": _bpe}


def _alphabet(texts: Texts, normalize: Callable[[str], str], at_most: int) -> list[str]:
    """The most frequent characters of the texts when normalised, in code order."""
    raw = np.zeros(sys.maxunicode + 1, np.int64)
    for chunk in chunks(texts):
        points = np.frombuffer("".join(_strings(chunk)).encode("utf-32-le"), "<u4")
        raw += np.bincount(points, minlength=len(raw))
    counts: Counter[str] = Counter()
    for point in np.flatnonzero(raw).tolist():
        for letter in "".join(normalize(chr(point)).split()):
            counts[letter] += int(raw[point])
    return sorted(sorted(counts, key=lambda char: (-counts[char], char))[:at_most])


ENOUGH_BYTES = 10_000_000  # of text, a million words and more: a few thousand pieces are the same from there on


def _strings(texts: Texts) -> Iterator[str]:
    """The texts as tokenizers can take them: half of a surrogate pair is no character."""
    return (text.encode("utf-8", "replace").decode("utf-8") for text in texts)
