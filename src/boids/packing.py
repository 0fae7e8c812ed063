"""Plain data as bytes: JSON and the arrays to which it refers, in one piece; no pickle, no compression.

=======  =========================================================================
bytes    hold
=======  =========================================================================
8        length of the header, an unsigned little-endian integer
…        the header: UTF-8 JSON with the content and, for each array, dtype and shape
…        the arrays one after the other, little-endian, in C order
=======  =========================================================================

Checksums and versions are the business of whoever keeps the bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from boids.errors import StoreError
from boids.plain import AnyArray

#: The types of numbers that boids keeps; whatever else a file asks for is damage.
_TYPES = ("<f8", "<f4", "<i8", "<i4", "<u8", "|b1", "|u1")


def pack(content: Any, arrays: Sequence[AnyArray] = ()) -> bytes:
    """Return content that is JSON-able, and the arrays to which it refers, as bytes."""
    plain = [np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape) for array in arrays]
    for array in plain:
        if array.dtype.str not in _TYPES:
            raise StoreError(f"An array of type {array.dtype} cannot be kept; use one of {', '.join(_TYPES)}.")
    shapes = [[array.dtype.str, list(array.shape)] for array in plain]
    header = json.dumps({"content": content, "arrays": shapes}, allow_nan=True).encode()
    return b"".join([len(header).to_bytes(8, "little"), header, *(array.tobytes() for array in plain)])


def unpack(data: bytes) -> tuple[Any, list[AnyArray]]:
    """Return content and arrays again; a `StoreError` if the bytes are not what `pack` made."""
    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        content, shapes, begin = header["content"], header["arrays"], 8 + size
        arrays: list[AnyArray] = []
        for name, shape in shapes:
            if name not in _TYPES or any(type(length) is not int or length < 0 for length in shape):
                raise ValueError
            kind, count = np.dtype(name), math.prod(shape)
            end = begin + count * kind.itemsize
            if end > len(data):
                raise ValueError
            arrays.append(np.frombuffer(data, kind, count, begin).reshape(shape).copy())
            begin = end
        if begin != len(data):
            raise ValueError
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError):
        raise StoreError("packed data is damaged") from None
    return content, arrays
