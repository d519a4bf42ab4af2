"""A saved model whose transformer is computed in another way; answers benchmarks/transformer_answers.py, line by line.

    python -m benchmarks.contenders.transformers CONTENDER MODEL CORES

Every contender is a function from ids (texts, longest), padded, and lengths to the states after every layer,
(texts, longest, hidden) each; `ours` computes as the package does.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

States = Callable[[np.ndarray, np.ndarray], list[np.ndarray]]
BATCH = 32


# -- contenders --------------------------------------------------------------------------------------------------------


def torch_model(transformer: Any, cores: int) -> Any:
    import torch

    from longtail.encoders.learn.transformer import TransformerEncoder

    torch.set_num_threads(cores)
    return TransformerEncoder(transformer, word_rows=False).eval().model


def states_of(model: Any, ids: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    import torch

    mask = torch.from_numpy((np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64))
    with torch.inference_mode():
        found = model(input_ids=torch.from_numpy(ids), attention_mask=mask, output_hidden_states=True).hidden_states
    return [state.float().numpy() for state in found[1:]]


def torch_fp32(transformer: Any, cores: int) -> States:
    model = torch_model(transformer, cores)
    return lambda ids, lengths: states_of(model, ids, lengths)


def torch_autocast(transformer: Any, cores: int) -> States:
    import torch

    model = torch_model(transformer, cores)

    def states(ids: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        with torch.autocast("cpu", torch.bfloat16):
            return states_of(model, ids, lengths)

    return states


def torch_bf16(transformer: Any, cores: int) -> States:
    import torch

    model = torch_model(transformer, cores).to(torch.bfloat16)
    return lambda ids, lengths: states_of(model, ids, lengths)


def torch_int8(transformer: Any, cores: int) -> States:
    import warnings

    import torch

    warnings.simplefilter("ignore")
    model = torch.ao.quantization.quantize_dynamic(torch_model(transformer, cores), {torch.nn.Linear}, torch.qint8)
    return lambda ids, lengths: states_of(model, ids, lengths)


def torch_compiled(transformer: Any, cores: int) -> States:
    import torch

    model = torch.compile(torch_model(transformer, cores), dynamic=True)
    return lambda ids, lengths: states_of(model, ids, lengths)


def onnx_file(transformer: Any, place: Path, quantized: bool) -> str:
    """The model in ONNX's format, by torch's exporter, which wants the package onnx."""
    import torch

    class Exported(torch.nn.Module):
        def __init__(self, model: Any):
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple:
            return self.model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states[1:]

    model = torch_model(transformer, 1)
    model.config._attn_implementation = "eager"
    example = torch.randint(5, 100, (2, 8)), torch.ones(2, 8, dtype=torch.long)
    axes = {
        name: {0: "texts", 1: "tokens"}
        for name in ("ids", "mask", *(f"s{n}" for n in range(transformer_layers(model))))
    }
    with torch.inference_mode():
        torch.onnx.export(
            Exported(model), example, str(place / "model.onnx"), input_names=["ids", "mask"],
            output_names=[name for name in axes if name.startswith("s")], dynamic_axes=axes, dynamo=False,
        )  # fmt: skip
    if not quantized:
        return str(place / "model.onnx")
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(place / "model.onnx", place / "int8.onnx", weight_type=QuantType.QInt8, per_channel=True)
    return str(place / "int8.onnx")


def transformer_layers(model: Any) -> int:
    return model.config.num_hidden_layers


def onnx(transformer: Any, cores: int, quantized: bool = False) -> States:
    import onnxruntime

    kept = Path(sys.argv[2]) / ".." / "onnx"
    kept.mkdir(exist_ok=True)
    ready = kept / ("int8.onnx" if quantized else "model.onnx")
    place = str(ready) if ready.is_file() else onnx_file(transformer, kept, quantized)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = cores
    session = onnxruntime.InferenceSession(place, options, providers=["CPUExecutionProvider"])

    def states(ids: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
        return session.run(None, {"ids": ids, "mask": mask})

    return states


def onnx_int8(transformer: Any, cores: int) -> States:
    return onnx(transformer, cores, quantized=True)


def plain_numpy(transformer: Any, cores: int) -> States:
    """BERT in NumPy, by its BLAS."""
    from scipy.special import erf

    w, about = transformer.numbers(), transformer.architecture
    heads, eps = about["num_attention_heads"], about["layer_norm_eps"]

    def dense(x: np.ndarray, name: str) -> np.ndarray:
        return (x.reshape(-1, x.shape[-1]) @ w[f"{name}.weight"].T + w[f"{name}.bias"]).reshape(*x.shape[:-1], -1)

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def attention(x: np.ndarray, bias: np.ndarray, name: str) -> np.ndarray:
        texts, tokens, hidden = x.shape
        q, k, v = (
            dense(x, f"{name}.attention.self.{part}").reshape(texts, tokens, heads, -1).swapaxes(1, 2)
            for part in ("query", "key", "value")
        )
        scores = q @ k.swapaxes(2, 3) / np.float32(np.sqrt(hidden / heads)) + bias
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        return ((scores / scores.sum(-1, keepdims=True)) @ v).swapaxes(1, 2).reshape(x.shape)

    def states(ids: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        embedded = (
            w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        )
        x = norm(embedded + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        bias = np.where(np.arange(ids.shape[1]) < lengths[:, None], 0, -1e9).astype(np.float32)[:, None, None]
        found = []
        for layer in range(about["num_hidden_layers"]):
            name = f"encoder.layer.{layer}"
            x = norm(
                x + dense(attention(x, bias, name), f"{name}.attention.output.dense"),
                f"{name}.attention.output.LayerNorm",
            )
            middle = dense(x, f"{name}.intermediate.dense")
            middle *= (1 + erf(middle * np.float32(0.5**0.5))) / 2
            x = norm(x + dense(middle, f"{name}.output.dense"), f"{name}.output.LayerNorm")
            found.append(x)
        return found

    return states


CONTENDERS: dict[str, Callable[[Any, int], States]] = {
    "torch fp32": torch_fp32, "torch bf16 autocast": torch_autocast, "torch bf16 weights": torch_bf16,
    "torch int8 dynamic": torch_int8, "torch compiled": torch_compiled, "ONNX Runtime fp32": onnx,
    "ONNX Runtime int8": onnx_int8, "NumPy fp32": plain_numpy,
}  # fmt: skip


# -- in place of the package's own layers ------------------------------------------------------------------------------


def with_contender(model: Any, contender: str, cores: int) -> Any:
    """The model with another computation; `ours` is as it is."""
    from longtail.encoders.transformer import Transformer
    from longtail.predict.export import everywhere

    if contender.startswith("ours"):
        return model

    @dataclass(frozen=True)
    class Through(Transformer):
        states: Any = None

        def _encoded(self, tokens: Any, roughly: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray]]:
            from longtail.data.batches import longest_first, padded

            for rows in longest_first(np.diff(tokens.offsets), BATCH):
                starts, stops = tokens.offsets[rows], tokens.offsets[rows + 1]
                ids, lengths = padded(tokens.ids, starts, stops, self.pieces.pad), stops - starts
                inside = (np.arange(ids.shape[1]) < lengths[:, None])[..., None]
                last = self.states(ids, lengths)[: -self.layers - 1 : -1]
                pooled = [(state * inside).sum(1) / lengths[:, None] for state in last]
                yield rows, np.concatenate(pooled, axis=1).astype(np.float32) - self.center

    def changed(part: Any) -> Any:
        if not isinstance(part, Transformer):
            return part
        old = {item.name: getattr(part, item.name) for item in fields(part)}
        return Through(**old, states=CONTENDERS[contender](part, cores))

    return everywhere(model, changed)


def main() -> None:
    contender, place, cores = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    import longtail

    model = with_contender(longtail.open(place), contender, cores)
    model.predict(["a first text"], 5)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(ANSWERS[(asked := json.loads(line))["what"]](model, asked["texts"])), flush=True)


def alone(model: Any, texts: list[str]) -> list[float]:
    """Seconds of each text."""
    seconds = []
    for text in texts:
        began = time.perf_counter()
        model.predict([text], 5)
        seconds.append(time.perf_counter() - began)
    return seconds


def together(model: Any, texts: list[str]) -> list[float]:
    """Seconds of all texts, and processor seconds."""
    began, processors = time.perf_counter(), time.process_time()
    model.predict(texts, 5)
    return [time.perf_counter() - began, time.process_time() - processors]


def ranked(model: Any, texts: list[str]) -> list[list[int]]:
    """The best labels of each text."""
    import longtail

    return model.rank(longtail.Documents.of(texts), 20).labels.tolist()


ANSWERS = {"alone": alone, "together": together, "ranked": ranked}

if __name__ == "__main__":
    main()
