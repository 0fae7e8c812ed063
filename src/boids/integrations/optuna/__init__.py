"""Optuna: `BoidsSampler`, with which boids' methods make the proposals of an Optuna study."""

from boids.errors import MissingExtra

try:
    import optuna as _optuna  # noqa: F401 - whether it is there
except ImportError as error:
    raise MissingExtra(
        "boids.integrations.optuna needs the package optuna, which is not installed; "
        'run `pip install "boids-opt[optuna]"`.'
    ) from error

from boids.integrations.optuna.sampler import BoidsSampler

__all__ = ["BoidsSampler"]
