"""Training of a transformer (formulas in ../transformer.py), with the layers of Hugging Face's library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import CONFIG_MAPPING, AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel

from longtail.encoders.learn.bag import Dropout, rows_before
from longtail.encoders.learn.batches import TokenInput
from longtail.encoders.learn.exchange import gathered, of_own_documents
from longtail.encoders.transformer import Transformer, TransformerReading
from longtail.errors import ModelError
from longtail.features.tokens import Tokens
from longtail.ranks import here


class TransformerEncoder(nn.Module):
    """Vectors of texts, (texts, layers · hidden), by any family of transformer."""

    center: Tensor  # (layers · hidden,)

    def __init__(self, start: Transformer, word_rows: bool = True, attention_dropout: bool = False):
        super().__init__()
        self.start = start
        self.model: PreTrainedModel = built(start, attention_dropout)
        self.layers, self.pool = min(start.layers, self.model.config.num_hidden_layers), start.pool
        self.dim = self.layers * self.model.config.hidden_size
        center = torch.zeros(self.dim) if start.center is None else torch.from_numpy(np.array(start.center))
        self.register_buffer("center", center, persistent=False)
        self.model.get_input_embeddings().sparse = word_rows

    def forward(self, ids: Tensor, lengths: Tensor, words: Tensor | None = None) -> Tensor:
        """e of each text, float32; `ids` (texts, longest) are padded behind each text's end.

        `words` are the word vectors of `ids`, (texts, longest, hidden), where somebody wants their gradient.
        """
        places = torch.arange(ids.shape[1], device=ids.device)
        mask = places < lengths[:, None]
        inputs = {"input_ids": ids} if words is None else {"inputs_embeds": words}
        inputs["attention_mask"] = mask.long()
        if self.start.pieces.segment:
            inputs["token_type_ids"] = (places == self._cls(lengths)[:, None]).long() * self.start.pieces.segment
        states = self.model(**inputs, output_hidden_states=True).hidden_states
        # The first hidden state is the word embedding, where [CLS] carries no information about the text.
        last = [self._pooled(state, mask, lengths) for state in states[: -self.layers - 1 : -1]]
        return torch.cat(last, dim=1).float() - self.center

    def gradient_times_input(self, ids: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Of one text: e (1, dim), and ⟨∂⟨row, e⟩/∂E_t, E_t⟩ of every row and token t, (rows, tokens).

        E_t is the token's word vector.  Only to first order is that what the token adds to ⟨row, e⟩.
        """
        words = self.model.get_input_embeddings()(ids[None]).detach().requires_grad_()
        vector = self(ids[None], torch.tensor([len(ids)], device=ids.device), words)
        added = [(torch.autograd.grad(vector[0] @ row, words, retain_graph=True)[0] * words)[0].sum(1) for row in rows]
        return vector.detach(), torch.stack(added).detach() if added else words.new_zeros(0, len(ids))

    def _pooled(self, state: Tensor, mask: Tensor, lengths: Tensor) -> Tensor:
        """Pool the state of one layer, (texts, longest, hidden), to (texts, hidden)."""
        if self.pool == "mean":
            return (state * mask[..., None]).sum(1) / lengths[:, None]
        return state[torch.arange(len(state), device=state.device), self._cls(lengths)]

    def _cls(self, lengths: Tensor) -> Tensor:
        """Position of [CLS] in each text."""
        return torch.zeros_like(lengths) if self.start.pieces.first else lengths - 1

    # -- parameters ----------------------------------------------------------------------------------------------------

    @property
    def tables(self) -> list[nn.Parameter]:
        """Parameters of which a batch touches few rows: word vectors with sparse gradients."""
        words = self.model.get_input_embeddings()
        return [words.weight] if words.sparse and words.weight.requires_grad else []

    @property
    def dense(self) -> list[nn.Parameter]:
        """All other trainable parameters."""
        tables = {id(table) for table in self.tables}
        return [each for each in self.parameters() if each.requires_grad and id(each) not in tables]

    def export(self) -> Transformer:
        """Export to NumPy for inference."""
        weights = {name: np.array(tensor.cpu().numpy()) for name, tensor in self.model.state_dict().items()}
        return replace(self.start, weights=weights, scales={}, layers=self.layers, pool=self.pool)


class LearningTransformer(nn.Module):
    """A transformer that encodes documents in every batch, and label texts once per epoch.

    Encoding the label texts of a batch with a gradient would cost many times as much as its documents.  So label texts
    are encoded at the start of an epoch and kept fixed during it: `label_texts` are their tokens, `as_rows` converts
    vectors of texts to vectors of rows, and `of_texts` are the initial vectors of rows.
    """

    of_texts: Tensor | None  # (rows, dim) vectors of label texts at the start of the epoch

    def __init__(
        self, start: Transformer, reading: TransformerReading, dropout: float,
        label_texts: Tokens | None = None, as_rows: Callable[[np.ndarray], np.ndarray] | None = None,
        of_texts: np.ndarray | None = None,
    ):  # fmt: skip
        super().__init__()
        how = reading.word_lr is not None, reading.attention_dropout
        self.layers = TransformerEncoder(start, *how)
        of_own_documents(self.layers.parameters())
        self.drop, self.dim, self.word_lr = Dropout(dropout), self.layers.dim, reading.word_lr
        self.label_texts, self.as_rows = label_texts, as_rows
        self.register_buffer("of_texts", None if of_texts is None else torch.from_numpy(np.array(of_texts)))

    def forward(self, texts: TokenInput) -> Tensor:
        """e of each document, (documents, dim); the caller applies `drop`."""
        bounds = here().bounds(texts.of.documents)
        if not len(texts.ids):  # fewer documents than ranks; a leaf, so that the gradient is gathered here, too
            return gathered(torch.zeros(0, self.dim, device=texts.ids.device).requires_grad_(), bounds)
        layers = partial(in_halves, self.layers) if texts.uneven else self.layers
        with rows_before(texts.of.before):
            return gathered(layers(texts.ids, texts.lengths), bounds)

    def with_labels(self, texts: TokenInput) -> tuple[Tensor, Tensor]:
        """e of each document, and of each label text at the start of the epoch."""
        assert texts.labels is not None
        return self(texts), self.of_labels(texts.labels)

    def of_labels(self, labels: Tensor) -> Tensor:
        """Vectors of these labels' texts, (labels, dim), without a gradient."""
        assert self.of_texts is not None
        return self.of_texts[labels]

    def start_epoch(self, epoch: int) -> None:
        """Encode label texts with the current weights, except before the first step."""
        if epoch > 0 and self.label_texts is not None and self.as_rows is not None and self.of_texts is not None:
            vectors = self.export().encode(self.label_texts, roughly=True)
            self.of_texts.copy_(torch.from_numpy(self.as_rows(vectors)))

    def rates(self, lr: float | None, row_lr: float) -> tuple[float, float]:
        """Learning rates of the layers and of the pretrained word vectors, lower than that of label rows."""
        own = LAYER_RATE if lr is None else lr
        return own, self.word_lr or own

    @property
    def tables(self) -> list[nn.Parameter]:
        """Word vectors, if they have sparse gradients."""
        return self.layers.tables

    @property
    def dense(self) -> list[nn.Parameter]:
        """All other trainable parameters."""
        return self.layers.dense

    def export(self, as_view: bool = False) -> Transformer:
        """Export to NumPy for inference; always a copy, which is small beside a table of token vectors."""
        return self.layers.export()


LAYER_RATE = 1e-4


def in_halves(layers: nn.Module, ids: Tensor, lengths: Tensor) -> Tensor:
    """The vectors of all rows, with the shorter and the longer half encoded separately.

    Documents of a batch have similar lengths, but their label names do not: on eurlex57k nearly half of the tokens
    would be padding, in halves a quarter.
    """
    order = lengths.argsort(stable=True)
    halves = [layers(ids[half, : lengths[half].max()], lengths[half]) for half in order.chunk(2)]
    return torch.cat(halves)[order.argsort()]


def built(start: Transformer, attention_dropout: bool = False) -> PreTrainedModel:
    """The Hugging Face model with the weights of `start`."""
    config = config_of(start.architecture, attention_dropout)
    check_weights(config, start.weights)
    with torch.random.fork_rng([]):  # random initial weights are replaced
        model = without_pooler(AutoModel.from_config(config, trust_remote_code=False))
    for part in list(model.modules()):
        for name, layer in part.named_children():
            if isinstance(layer, nn.Dropout):
                setattr(part, name, Dropout(layer.p))
    # Copies: arrays mapped from disk are read-only.
    model.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in start.numbers().items()})
    return model.train()


# Attention dropout prevents torch's fast attention kernel; at 128 tokens that cost a fifth of a training step.
ATTENTION_DROPOUT = ("attention_probs_dropout_prob", "attention_dropout")


# Fields of a stored architecture that are ignored: code and kernels to fetch, file names, and options we set.
NOT_PASSED_ON = {
    "_name_or_path", "architectures", "auto_map", "custom_pipelines", "dtype", "torch_dtype", "quantization_config",
    "_attn_implementation", "attn_implementation", "transformers_version", "output_attentions", "output_hidden_states",
    "return_dict", "chunk_size_feed_forward", "is_decoder", "add_cross_attention", "is_encoder_decoder",
}  # fmt: skip


def config_of(architecture: dict[str, Any], attention_dropout: bool = False) -> PreTrainedConfig:
    """The configuration of a transformer; unknown fields of a stored one are ignored."""
    family = architecture.get("model_type")
    if not isinstance(family, str) or family not in CONFIG_MAPPING:
        raise ModelError(f"a transformer of the family {family!r:.40}, which the transformers package does not have")
    try:
        known = CONFIG_MAPPING[family]().to_dict().keys() - NOT_PASSED_ON
        kind = {name: value for name, value in architecture.items() if name in known and name != "model_type"}
        if not attention_dropout:
            kind |= {name: 0.0 for name in ATTENTION_DROPOUT if name in kind}
        return AutoConfig.for_model(family, **kind)
    except Exception as error:  # types differ by family
        raise ModelError(f"a transformer whose architecture cannot be built ({error})") from error


def check_weights(config: PreTrainedConfig, weights: dict[str, np.ndarray]) -> None:
    """Raise unless layers and weights have the same shapes, before allocating memory."""
    try:
        if not 0 < config.num_hidden_layers <= len(weights):
            raise ModelError(f"{config.num_hidden_layers} layers, and weights for {len(weights)} parts")
        with torch.device("meta"):
            model = without_pooler(AutoModel.from_config(config, trust_remote_code=False))
        wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    except Exception as error:
        raise ModelError(f"a transformer whose architecture cannot be built ({error})") from error
    if wanted != (found := {name: array.shape for name, array in weights.items()}):
        unlike = sorted(name for name in wanted | found if wanted.get(name) != found.get(name))
        raise ModelError(f"a transformer whose weights do not fit its architecture ({', '.join(unlike[:3])})")


def try_out(encoder: TransformerEncoder) -> None:
    """Raise ModelError unless a text of maximal length with the largest token id can be encoded."""
    pieces, words = encoder.start.pieces, encoder.model.get_input_embeddings().num_embeddings
    if pieces.largest >= words:
        raise ModelError(f"a tokenizer with token {pieces.largest} before a transformer with vectors for {words}")
    ids = torch.full((1, pieces.max_tokens), pieces.largest, device=encoder.center.device)
    try:
        with torch.inference_mode():
            encoder(ids, torch.tensor([pieces.max_tokens], device=ids.device))
    except Exception as error:
        raise ModelError(f"a transformer that cannot read {pieces.max_tokens} tokens ({error})") from error


def without_pooler(model: PreTrainedModel) -> PreTrainedModel:
    """The model without the unused pooling layer above [CLS]."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model
