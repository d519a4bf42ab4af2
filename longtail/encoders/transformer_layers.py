"""The half of a transformer that learns (see transformer.py): in torch, its layers those of Hugging Face's library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedModel

from longtail.encoders.block import Dropout
from longtail.encoders.transformer import Reading, Transformer
from longtail.errors import ConfigError


class TransformerEncoder(nn.Module):
    """(texts, layers · hidden) vectors of token numbers, whichever family of transformer it is."""

    center: Tensor  # (layers · hidden,)

    def __init__(self, start: Transformer, reading: Reading):
        super().__init__()
        self.start = start
        self.model: PreTrainedModel = built(start)
        self.layers, self.pool = min(reading.layers, self.model.config.num_hidden_layers), reading.pool
        self.word_lr = reading.word_lr
        self.dim = self.layers * self.model.config.hidden_size
        center = torch.zeros(self.dim) if start.center is None else torch.from_numpy(np.array(start.center))
        self.register_buffer("center", center, persistent=False)
        self._choose(reading)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """e of each text, float32; `ids` (texts, longest) are padded behind each text's end."""
        places = torch.arange(ids.shape[1], device=ids.device)
        mask = places < lengths[:, None]
        inputs = {"input_ids": ids, "attention_mask": mask.long()}
        if self.start.pieces.segment:
            inputs["token_type_ids"] = (places == self._cls(lengths)[:, None]).long() * self.start.pieces.segment
        states = self.model(**inputs, output_hidden_states=True).hidden_states
        # The first of these states are the word vectors, of which [CLS] says nothing about the text.
        last = [self._pooled(state, mask, lengths) for state in states[: -self.layers - 1 : -1]]
        return torch.cat(last, dim=1).float() - self.center

    def _pooled(self, state: Tensor, mask: Tensor, lengths: Tensor) -> Tensor:
        """(texts, hidden) of one layer's (texts, longest, hidden)."""
        if self.pool == "mean":
            return (state * mask[..., None]).sum(1) / lengths[:, None]
        return state[torch.arange(len(state), device=state.device), self._cls(lengths)]

    def _cls(self, lengths: Tensor) -> Tensor:
        """Where [CLS] stands in each text."""
        return torch.zeros_like(lengths) if self.start.pieces.first else lengths - 1

    # -- what learns ---------------------------------------------------------------------------------------------------

    def _choose(self, reading: Reading) -> None:
        words = self.model.get_input_embeddings()
        words.sparse = reading.words == "rows"
        words.weight.requires_grad_(reading.words != "frozen")
        if reading.recompute:
            if not self.model.supports_gradient_checkpointing:
                family = self.model.config.model_type
                raise ConfigError(f"reading.recompute: a transformer of the family {family} cannot; set it to false")
            self.model.gradient_checkpointing_enable({"use_reentrant": False})

    @property
    def tables(self) -> list[nn.Parameter]:
        """What a batch touches few rows of: word vectors, where only those are to move."""
        words = self.model.get_input_embeddings()
        return [words.weight] if words.sparse and words.weight.requires_grad else []

    @property
    def dense(self) -> list[nn.Parameter]:
        """Everything else that learns."""
        tables = {id(table) for table in self.tables}
        return [each for each in self.parameters() if each.requires_grad and id(each) not in tables]

    def settled(self) -> Transformer:
        """What the transformer has come to."""
        weights = {name: np.array(tensor.cpu().numpy()) for name, tensor in self.model.state_dict().items()}
        return replace(self.start, weights=weights, layers=self.layers, pool=self.pool)


def built(start: Transformer) -> PreTrainedModel:
    """Layers with the weights given."""
    kind = start.architecture | {name: 0.0 for name in ATTENTION_DROPOUT if name in start.architecture}
    config = AutoConfig.for_model(**kind)
    with torch.random.fork_rng([]):  # first weights are drawn only to be replaced
        model = without_pooler(AutoModel.from_config(config))
    for part in list(model.modules()):
        for name, layer in part.named_children():
            if isinstance(layer, nn.Dropout):
                setattr(part, name, Dropout(layer.p))
    # Copies: what is mapped from disk cannot learn.
    model.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in start.weights.items()})
    return model.train()


# Dropped attention keeps torch from its fast kernel; at 128 tokens that was a fifth of a training step.
ATTENTION_DROPOUT = ("attention_probs_dropout_prob", "attention_dropout")


def without_pooler(model: PreTrainedModel) -> PreTrainedModel:
    """The model, with the layer above [CLS] gone that nothing here reads."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model
