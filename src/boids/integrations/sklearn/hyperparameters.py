"""Hyper-parameters as people write them for scikit-learn's searches, as a `boids.Space`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, final

import numpy as np

from boids.errors import SpaceError, shown
from boids.space import Categorical, Float, Int, Space
from boids.space.parameters import PARAMETERS, Parameter

_ACCEPTED = (
    "a list of choices, a boids.Float, Int, Categorical or Bool, or scipy.stats.uniform, loguniform or randint with "
    "their arguments"
)


@final
class Hyperparameters:
    """What a search varies.

    Parameters
    ----------
    definition
        A named `boids.Space`, or a dict from names to choices, parameters of boids and distributions of SciPy.

    Attributes
    ----------
    space
        All that have more than one value.
    """

    def __init__(self, definition: Any) -> None:
        if isinstance(definition, Space):
            if not definition.is_named:
                raise SpaceError('The space of a search needs names; write boids.Space({"alpha": boids.Float(0, 1)}).')
            definition = definition.parameters
        if not isinstance(definition, Mapping):
            raise SpaceError(f"space must be a named boids.Space or a dict, got {shown(definition)}.")
        # Choices may be estimators or anything else, so the space holds their places in these lists.
        self._choices = {name: list(each) for name, each in definition.items() if _is_choices(each)}
        self.space = Space(
            {
                name: Categorical(range(len(each))) if _is_choices(each) else _parameter(name, each)
                for name, each in definition.items()
                if not _is_choices(each) or len(each) != 1
            }
        )

    def candidate(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return a point of the space as scikit-learn's parameters; vectors are tuples."""
        places = {name: params.get(name, 0) for name in self._choices}
        chosen = {name: self._choices[name][place] for name, place in places.items()}
        rest = {
            name: tuple(value.tolist()) if isinstance(value, np.ndarray) else value
            for name, value in params.items()
            if name not in self._choices
        }
        return chosen | rest


def _is_choices(given: Any) -> bool:
    return isinstance(given, list) or (isinstance(given, np.ndarray) and given.ndim == 1)


def _parameter(name: str, given: Any) -> Parameter:
    if isinstance(given, tuple(PARAMETERS.values())):
        return cast(Parameter, given)
    kind = getattr(getattr(given, "dist", None), "name", None)
    if kind in ("uniform", "loguniform", "reciprocal", "randint"):
        low, high = given.support()  # both included, also those of randint
        return Int(int(low), int(high)) if kind == "randint" else Float(low, high, log=kind != "uniform")
    what = f"the distribution {kind!r}" if kind is not None else shown(given)
    raise SpaceError(f"The hyper-parameter {name!r} must be {_ACCEPTED}; got {what}.")
