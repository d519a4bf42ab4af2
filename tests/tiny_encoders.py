"""Transformers small enough to learn in seconds, written to a directory as their makers would, nothing downloaded."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    AutoModel,
    BertConfig,
    DistilBertConfig,
    PreTrainedConfig,
    RobertaConfig,
    XLNetConfig,
)  # fmt: skip

SPECIAL = {
    "bert": {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"},
    "distilbert": {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"},
    "minilm": {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"},
    "roberta": {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>"},  # numbered so: padding is 1
    "xlnet": {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "cls": "<cls>", "sep": "<sep>", "pad": "<pad>"},  # 5
}
FRAME = {"xlnet": "$A:0 <sep>:0 <cls>:2", "roberta": "<s> $A </s>"}


def write_encoder(
    directory: Path, words: list[str], family: str = "bert", hidden: int = 64, layers: int = 2, dropout: float = 0.1
) -> Path:
    """A random transformer that knows these words; the same every time."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer, special = word_tokenizer(words, family), SPECIAL[family]
    config = config_of(
        family, tokenizer.get_vocab_size(), hidden, layers, dropout, tokenizer.token_to_id(special["pad"])
    )
    with torch.random.fork_rng([]):
        torch.default_generator.manual_seed(0)
        model = AutoModel.from_config(config)
        if family == "bert":
            look_around(model)
        model.save_pretrained(directory)
    tokenizer.save(str(directory / "tokenizer.json"))
    named = {f"{name}_token": token for name, token in special.items()}
    about = named | {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512}
    (directory / "tokenizer_config.json").write_text(json.dumps(about))
    return directory


def look_around(bert: torch.nn.Module) -> None:
    """Every token sees the mean of all, as after some pretraining; from nothing at all that takes longest to learn."""
    for layer in bert.encoder.layer:
        for part in (layer.attention.self.value, layer.attention.output.dense):
            torch.nn.init.eye_(part.weight)


def word_tokenizer(words: list[str], family: str) -> Tokenizer:
    special = SPECIAL[family]
    numbers = {token: at for at, token in enumerate([*special.values(), *words])}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token=special["unk"]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(list(special.values()))
    frame = FRAME.get(family, "[CLS] $A [SEP]")
    known = [(token, number) for token, number in numbers.items() if token in special.values()]
    tokenizer.post_processor = processors.TemplateProcessing(single=frame, special_tokens=known)
    return tokenizer


def config_of(family: str, words: int, hidden: int, layers: int, dropout: float, pad: int) -> PreTrainedConfig:
    bert = {
        "vocab_size": words, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": 2,
        "intermediate_size": 2 * hidden, "pad_token_id": pad, "max_position_embeddings": 514,
        "hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout,
    }  # fmt: skip
    if family == "distilbert":
        return DistilBertConfig(
            vocab_size=words, dim=hidden, n_layers=layers, n_heads=2, hidden_dim=2 * hidden, pad_token_id=pad,
            dropout=dropout, attention_dropout=dropout,
        )  # fmt: skip
    if family == "xlnet":
        return XLNetConfig(
            vocab_size=words, d_model=hidden, n_layer=layers, n_head=2, d_inner=2 * hidden, pad_token_id=pad,
            dropout=dropout, use_mems_eval=False, use_mems_train=False,
        )  # fmt: skip
    return RobertaConfig(**bert) if family == "roberta" else BertConfig(**bert)
