"""How the rows of large tables are stored: as 32-bit or 16-bit floats, or as 8-bit integers with a scale a row.

    fp32    a number is what is stored
    fp16    a number is what is stored, to about three digits
    int8    a number is code · scale of its row, with codes from −127 to 127 and scale = the row's largest number / 127

A class that stores such a table declares the array and its scales side by side,

    rows: Annotated[np.ndarray, Array("labels dim", STORED, scales="scales")]
    scales: Annotated[np.ndarray | None, Array("labels", np.float32, between=(0, np.inf))] = None

and `predict/export.py` finds it by that.  A class with tables by name, as a transformer, declares them as `Tables`.
kernels/products.py has the products of each kind, kernels/bag.py the sums, kernels/matmul.py those of many vectors.
"""

from __future__ import annotations

import numpy as np

from longtail.errors import ConfigError

FP32, FP16, INT8 = "fp32", "fp16", "int8"
DTYPES: dict[str, np.dtype] = {FP32: np.dtype(np.float32), FP16: np.dtype(np.float16), INT8: np.dtype(np.int8)}
STORED = tuple(DTYPES.values())
LARGEST_CODE = 127


def precision_of(rows: np.ndarray) -> str:
    """What a table is stored as.

    >>> precision_of(np.zeros((2, 3), np.float16))
    'fp16'
    """
    return next(name for name, dtype in DTYPES.items() if dtype == rows.dtype)


def stored_as(
    precision: str, rows: np.ndarray, scales: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """A table in another precision, and its scales if it has any.  What is stored in fewer bits already stays so.

    >>> stored_as("int8", np.array([[0.5, -1], [0, 0]], np.float32))[0].tolist()
    [[64, -127], [0, 0]]
    """
    if precision not in DTYPES:
        raise ConfigError(f"precision {precision!r:.40}: one of {', '.join(DTYPES)}")
    if rows.dtype.itemsize <= DTYPES[precision].itemsize:
        return rows, scales
    if precision == INT8:
        return _coded(rows)
    if np.abs(rows).max(initial=0) > np.finfo(np.float16).max:
        raise ConfigError("a number of this model is larger than 65,504, which fp16 cannot hold; use int8")
    return rows.astype(np.float16), None


def all_stored_as(
    precision: str, arrays: dict[str, np.ndarray], scales: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Tables by name in another precision, and the scales of those that have any; what has not two axes stays."""
    both = {
        name: stored_as(precision, array, scales.get(name)) if array.ndim == 2 else (array, None)
        for name, array in arrays.items()
    }
    return {name: rows for name, (rows, _) in both.items()}, {
        name: own for name, (_, own) in both.items() if own is not None
    }


def _coded(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    codes, scales = np.empty(rows.shape, np.int8), np.empty(len(rows), np.float32)
    for at in range(0, len(rows), PIECE):  # a piece at a time: floats of a whole table are four times its codes
        piece = slice(at, at + PIECE)
        numbers = rows[piece].astype(np.float32)
        scales[piece] = np.abs(numbers).max(axis=1, initial=0) / LARGEST_CODE
        # The smallest floats have a scale of 0; they are as good as 0 themselves.
        numbers /= np.where(scales[piece] > 0, scales[piece], np.inf)[:, None]
        codes[piece] = np.rint(numbers, out=numbers).clip(-LARGEST_CODE, LARGEST_CODE)
    return codes, scales


PIECE = 1 << 14  # rows


def as_floats(rows: np.ndarray, scales: np.ndarray | None = None) -> np.ndarray:
    """The numbers that a table stands for, float32; fp32 is returned as it is."""
    if scales is None:
        return np.asarray(rows, np.float32)
    return rows * scales[:, None]
