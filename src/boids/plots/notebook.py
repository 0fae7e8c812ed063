"""Figures that a notebook shows by itself, also if pyplot was never imported there."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show_itself(figure: Figure) -> Figure:
    """Return the figure, with the method that notebooks look for; pyplot's own display, if active, comes first."""
    figure.__dict__["_repr_png_"] = partial(_png, figure)
    return figure


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
