"""Plain data as bytes: JSON and the arrays to which it refers, in one piece; no pickle, no compression.

=======  =========================================================================
bytes    hold
=======  =========================================================================
8        length of the header, an unsigned little-endian integer
…        the header: UTF-8 JSON with the content and, for each array, dtype, shape and order
…        the arrays one after the other, little-endian
=======  =========================================================================

Checksums and versions are the business of whoever keeps the bytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from boids.errors import StoreError
from boids.plain import AnyArray

#: The types of arrays that plain data may have; whatever else a file asks for is damage, above all objects.
_TYPE = re.compile(r"[<|][biufcSU]\d{1,6}")


def pack(content: Any, arrays: Sequence[AnyArray] = ()) -> bytes:
    """Return content that is JSON-able, and the arrays to which it refers, as bytes."""
    # The order in memory is kept, for NumPy may sum the two in different ways.
    plain = [array.astype(array.dtype.newbyteorder("<"), copy=False) for array in arrays]
    orders = ["F" if array.flags.fnc else "C" for array in plain]
    for array in plain:
        if not _TYPE.fullmatch(array.dtype.str):
            raise StoreError(f"An array of type {array.dtype} cannot be kept; use numbers.")
    shapes = [[array.dtype.str, list(array.shape), order] for array, order in zip(plain, orders, strict=True)]
    header = json.dumps({"content": content, "arrays": shapes}).encode()
    parts = [array.tobytes("A") for array in plain]
    return b"".join([len(header).to_bytes(8, "little"), header, *parts])


def unpack(data: bytes) -> tuple[Any, list[AnyArray]]:
    """Return content and arrays again; a `StoreError` if the bytes are not what `pack` made."""
    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        content, shapes, begin = header["content"], header["arrays"], 8 + size
        arrays: list[AnyArray] = []
        for name, shape, order in shapes:
            if not _TYPE.fullmatch(name) or any(type(length) is not int or length < 0 for length in shape):
                raise ValueError
            kind, count = np.dtype(name), math.prod(shape)
            end = begin + count * kind.itemsize
            if end > len(data):
                raise ValueError
            arrays.append(np.frombuffer(data, kind, count, begin).reshape(shape, order=order).copy("A"))
            begin = end
        if begin != len(data):
            raise ValueError
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError):
        raise StoreError("packed data is damaged") from None
    return content, arrays
