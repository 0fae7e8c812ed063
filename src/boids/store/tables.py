"""The tables of a store, and the checksums that tie them together.

========  ==================================================================  ==========================
table     holds                                                               one row for each
========  ==================================================================  ==========================
store     how many runs there are, the next free key, the sum over the runs   file
runs      what never changes                                                  run
progress  how far the run has come, the sum over its trials                   run
blobs     setup, state and memory, each a piece of bytes                      run and kind
trials    the points and what came out of them                                trial
========  ==================================================================  ==========================

Every row carries a checksum over all its other cells. Rows point down by checksums, too: `progress` holds the digests
of the run's blobs and the sum of the checksums of its trials, `store` the sum of the checksums in `runs` and
`progress`. A sum can be brought up to date at the cost of the rows that change, and it takes notice of a row that is
lost, doubled, or older than the rest. So what is read is what was written, as of one moment, or it is refused.

Only plain tables with an integer as key: there is no index that could differ from what it points to.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

#: What SQLite keeps in one field.
Cell: TypeAlias = int | float | str | bytes | None
Cells: TypeAlias = tuple[Cell, ...]

#: "boid": marks the file as a store of this library.
APPLICATION = 0x626F6964
#: Goes up by one whenever an older boids could misread what this one writes.
VERSION = 1

_DIGEST = 16  # bytes: 128 bits leave no room for accidents


class DamageError(Exception):
    """What was read is not what was written; becomes a `StoreError` where the file's name is known."""


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows are checked; the first column is the key, the last one the checksum."""

    name: str
    columns: tuple[str, ...]

    @property
    def create(self) -> str:
        """The statement that makes the table."""
        first, *others = self.columns
        columns = ", ".join([f"{first} PRIMARY KEY", *others, "checksum BLOB"])
        return f"CREATE TABLE {self.name} ({columns})"

    @property
    def put(self) -> str:
        """The statement that writes a row, or writes over the row with the same key."""
        return f"REPLACE INTO {self.name} VALUES ({', '.join('?' * (len(self.columns) + 1))})"  # noqa: S608  (constants of this file)

    @property
    def select(self) -> str:
        """The statement that reads rows, without conditions."""
        names = ", ".join(column.split()[0] for column in self.columns)
        return f"SELECT {names}, checksum FROM {self.name}"  # noqa: S608  (constants of this file)

    def seal(self, cells: Cells) -> Cells:
        """Return a row with its checksum."""
        return (*cells, _checksum(self.name, cells))

    def open(self, row: Sequence[Cell]) -> tuple[Cells, int]:
        """Return the cells of a row, and its checksum as a number; a `DamageError` if they do not fit together."""
        *cells, checksum = row
        if not isinstance(checksum, bytes) or checksum != _checksum(self.name, cells):
            raise DamageError(f"a row of the table {self.name} is not as it was written")
        return tuple(cells), int.from_bytes(checksum, "little")


def weight(sealed: Cells) -> int:
    """Return the checksum of a sealed row as a number, which is what it adds to the sum above it."""
    checksum = sealed[-1]
    return int.from_bytes(checksum, "little") if isinstance(checksum, bytes) else 0


STORE = Table("store", ("id INTEGER", "runs INTEGER", "next INTEGER", "total BLOB"))
RUNS = Table(
    "runs",
    ("run INTEGER", "id TEXT", "created REAL", "method TEXT", "problem TEXT", "dim INTEGER", "budget INTEGER",
     "seed TEXT", "setup BLOB"),
)  # fmt: skip
PROGRESS = Table(
    "progress",
    ("run INTEGER", "status TEXT", "updated REAL", "asked INTEGER", "told INTEGER", "failed INTEGER",
     "added INTEGER", "repeated INTEGER", "best REAL", "feasible INTEGER", "exhausted INTEGER", "times TEXT",
     "meta TEXT", "state BLOB", "memory BLOB", "trials BLOB"),
)  # fmt: skip
TRIALS = Table(
    "trials",
    ("place INTEGER", "run INTEGER", "number INTEGER", "state TEXT", "value REAL", "constraints BLOB",
     "noise_variance REAL", "error TEXT", "started REAL", "ended REAL", "attempts INTEGER", "asked INTEGER",
     "told INTEGER", "info TEXT", "memo BLOB", "unit BLOB", "aimed BLOB"),
)  # fmt: skip
#: Not checked by themselves: the digest of each blob stands in `runs` or `progress`.
BLOBS = "CREATE TABLE blobs (place INTEGER PRIMARY KEY, data BLOB)"

#: Name and text of every table; whatever else is in the file is not ours.
SCHEMA = {table.name: table.create for table in (STORE, RUNS, PROGRESS, TRIALS)} | {"blobs": BLOBS}

SETUP, STATE, MEMORY = range(3)


def blob_place(run: int, kind: int) -> int:
    """Return the key of a run's blob."""
    return run << 2 | kind


def trial_place(run: int, number: int) -> int:
    """Return the key of a trial: those of one run lie one after the other."""
    return run << 32 | number


def digest(data: bytes) -> bytes:
    """Return the digest of a blob."""
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


def from_total(number: int) -> bytes:
    """Return a sum of checksums as it is kept."""
    return (number % (1 << 8 * _DIGEST)).to_bytes(_DIGEST, "little")


def to_total(cell: Cell) -> int:
    """Return a sum of checksums as a number."""
    return int.from_bytes(cell, "little") if isinstance(cell, bytes) else -1


def _checksum(name: str, cells: Sequence[Cell]) -> bytes:
    """Return the digest of a row: type, length and bytes of every cell, none of which can pass for another."""
    parts = [name.encode()]
    for cell in cells:
        if cell is None:
            parts.append(b"n")
        elif isinstance(cell, int):
            parts.append(b"i" + cell.to_bytes(8, "little", signed=True))
        elif isinstance(cell, float):
            parts.append(b"f" + struct.pack("<d", cell))
        else:
            kind, data = (b"t", cell.encode()) if isinstance(cell, str) else (b"b", cell)
            parts += [kind, len(data).to_bytes(8, "little"), data]
    return digest(b"".join(parts))
