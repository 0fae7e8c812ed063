"""Fields of a method that say where their default comes from."""

from __future__ import annotations

from dataclasses import MISSING, Field, field, fields
from typing import Any


def setting(default: Any, source: str) -> Any:
    """Return a dataclass field with a default and the place it comes from."""
    return field(default=default, metadata={"source": source})


def describe(method: Any) -> list[tuple[str, Any, str]]:
    """Return (name, default, source) for every setting of a method class or instance."""

    def default_of(f: Field[Any]) -> Any:
        if f.default is not MISSING:
            return f.default
        return f.default_factory() if f.default_factory is not MISSING else None

    return [(f.name, default_of(f), f.metadata.get("source", "")) for f in fields(method)]
