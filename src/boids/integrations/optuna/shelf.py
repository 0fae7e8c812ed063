"""Where the processes of a study keep their method's course for each other: among the study's own attributes.

The storage offers neither locks nor transactions, so whoever writes looks before whether somebody else has written
since, and afterwards whether it was not written over. Text is kept in pieces that fit into MySQL's columns; a piece
that belongs to another writing makes the whole of them void.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from typing import Any, final

from optuna.storages import BaseStorage

_NAME = "boids:course:{}"
#: MySQL keeps 65535 bytes in a column of texts.
_PIECE = 60_000


@final
@dataclass(frozen=True)
class Note:
    """What was written: by which call, for what (method, space and so on), and the bytes; None if it is in pieces."""

    token: str | None
    purpose: str
    data: bytes | None


@final
class Shelf:
    """The place of one study.

    Parameters
    ----------
    storage, study_id
        Which study.
    """

    def __init__(self, storage: BaseStorage, study_id: int) -> None:
        self.storage = storage
        self.study_id = study_id

    def is_of(self, storage: BaseStorage, study_id: int) -> bool:
        """Return whether this is the place of that study."""
        return self.storage is storage and self.study_id == study_id

    def token(self) -> str | None:
        """Return by which call the latest note was written, None if there is none."""
        return _token(self._attributes())

    def note(self) -> Note:
        """Return the latest note."""
        attributes = self._attributes()
        try:
            token, count, purpose, _ = attributes[_NAME.format(0)]
            pieces = [attributes[_NAME.format(place)] for place in range(count)]
            if all(piece[0] == token for piece in pieces):
                return Note(token, purpose, base64.b64decode("".join(piece[3] for piece in pieces), validate=True))
        except (KeyError, ValueError, TypeError, IndexError):
            pass
        return Note(_token(attributes), "", None)

    def write(self, purpose: str, data: bytes) -> str:
        """Write a note in the place of the latest, and return its token."""
        token, text = secrets.token_hex(8), base64.b64encode(data).decode()
        pieces = [text[begin : begin + _PIECE] for begin in range(0, len(text), _PIECE)]
        # The first piece last: whoever sees its token finds all the others, unless somebody else writes as well.
        for place in reversed(range(len(pieces))):
            piece: list[str | int] = [token, len(pieces), purpose, pieces[place]]
            self.storage.set_study_system_attr(self.study_id, _NAME.format(place), piece)
        return token

    def _attributes(self) -> dict[str, Any]:
        return self.storage.get_study_system_attrs(self.study_id)


def _token(attributes: dict[str, Any]) -> str | None:
    first = attributes.get(_NAME.format(0))
    return str(first[0]) if isinstance(first, (list, tuple)) and first else None
