"""What is kept of a run beside the optimizer, so that it can be resumed, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from boids import plain
from boids.cli.placing import Placing
from boids.cli.targets import Target


@final
@dataclass(frozen=True)
class Limits:
    """What stops a run before its budget; see `boids.minimize`."""

    timeout: float | None = None
    target: float | None = None
    patience: int | None = None


@final
@dataclass(frozen=True)
class RunRecord:
    """What a store must hold beside the optimizer to resume a run.

    Attributes
    ----------
    folder
        Where it was begun; relative paths hold there.
    target
        What is minimised.
    placing
        Where it is evaluated.
    limits
        What stops the run.
    """

    folder: str
    target: Target
    placing: Placing
    limits: Limits

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> RunRecord:
        """Return the record that was kept; a `StoreError` if it is none."""
        record: RunRecord = plain.decode(dict(meta), cls, [], "meta")
        return record

    def as_meta(self) -> dict[str, Any]:
        """Return the record as JSON-able data."""
        meta: dict[str, Any] = plain.encode(self, RunRecord, [], "meta")
        return meta
