"""Snapshot files: a JSON manifest and arrays in one .npz; versioned, checked, atomic, no pickle.

==========  ======================================================================================
entry       holds
==========  ======================================================================================
manifest    UTF-8 JSON as bytes: format, version, the boids that wrote it, and the content
array0, …   the arrays to which the content refers
sha256      checksum over all other entries
==========  ======================================================================================
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boids import __version__
from boids.errors import StoreError
from boids.plain import AnyArray

#: Goes up by one whenever an older boids could misread what this one writes.
VERSION = 7
_FORMAT = "boids-snapshot"


def write(path: str | os.PathLike[str], content: Any, arrays: Sequence[AnyArray]) -> None:
    """Write a snapshot; a crash at any moment leaves either the old file or the new one."""
    manifest = {"format": _FORMAT, "version": VERSION, "written_by": __version__, "content": content}
    text = np.frombuffer(json.dumps(manifest).encode(), dtype=np.uint8)
    entries = {"manifest": text, **{f"array{i}": array for i, array in enumerate(arrays)}}
    packed = {f"{name}.npy": _to_npy(array) for name, array in entries.items()}
    packed["sha256.npy"] = _to_npy(np.frombuffer(_digest(packed), dtype=np.uint8))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in packed.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # with a constant date, so that equal runs give equal files
    try:
        _replace(Path(os.path.realpath(path)), buffer.getvalue())
    except (OSError, ValueError) as error:  # a ValueError for a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"The snapshot {os.fspath(path)!r} cannot be written: {reason}.") from error


def read(path: str | os.PathLike[str]) -> tuple[Any, list[AnyArray]]:
    """Return the content and the arrays of a snapshot."""
    shown = repr(os.fspath(path))
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise StoreError(f"There is no snapshot {shown}.") from None
    except (OSError, ValueError) as error:  # a ValueError for a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"The snapshot {shown} cannot be read: {reason}.") from error
    if not data.startswith(b"PK"):
        raise StoreError(f"The file {shown} is not a boids snapshot.")
    try:
        packed = _unzip(data)
        text = _from_npy(packed["manifest.npy"])
        manifest = json.loads(text.tobytes()) if text.dtype == np.uint8 else None
    except Exception as error:  # damage surfaces anywhere between zipfile, zlib, NumPy's header parser and json
        raise _damaged(shown) from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise StoreError(f"The file {shown} is not a boids snapshot.")
    version = manifest.get("version")
    if isinstance(version, int) and version > VERSION:
        writer = manifest.get("written_by")
        raise StoreError(f"The snapshot {shown} was written by boids {writer}; this is {__version__}; upgrade boids.")
    if isinstance(version, int) and 0 < version < VERSION:
        writer = manifest.get("written_by")
        raise StoreError(f"The snapshot {shown} was written by the older boids {writer}; resume it with that version.")
    try:
        digest = _from_npy(packed.pop("sha256.npy")).tobytes()
        intact = digest == _digest(packed) and version == VERSION
        arrays = [_from_npy(packed[f"array{i}.npy"]) for i in range(len(packed) - 1)]
        content = manifest["content"]
    except Exception as error:
        raise _damaged(shown) from error
    if not intact:
        raise _damaged(shown)
    return content, arrays


def _damaged(shown: str) -> StoreError:
    return StoreError(f"The snapshot {shown} is damaged (cut short or altered); restore it from a copy.")


def _to_npy(array: AnyArray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _from_npy(data: bytes) -> AnyArray:
    array: AnyArray = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return array


def _digest(packed: Mapping[str, bytes]) -> bytes:
    """Return a checksum over names and contents."""
    total = hashlib.sha256()
    for name, data in packed.items():
        total.update(f"{name}:{len(data)}:".encode())
        total.update(data)
    return total.digest()


def _unzip(data: bytes) -> dict[str, bytes]:
    """Return the members of an archive; its own CRC is checked on the way."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            # Nothing is compressed, so that a forged file cannot ask for more memory than it has bytes.
            if member.compress_type != zipfile.ZIP_STORED or member.file_size > len(data):
                raise zipfile.BadZipFile(member.filename)
        return {name: archive.read(name) for name in archive.namelist()}


def _replace(target: Path, data: bytes) -> None:
    """Write a file beside the target and move it over it, each step flushed to the disk."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    if os.name == "posix":  # the directory entry, too
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
