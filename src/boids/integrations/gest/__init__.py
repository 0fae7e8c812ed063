"""gest-api: `BoidsGenerator`, with which boids' methods make the points of libEnsemble, Optimas and Xopt."""

from boids.errors import MissingExtra

try:
    import gest_api as _gest_api  # noqa: F401 - whether it is there
except ImportError as error:
    raise MissingExtra(
        "boids.integrations.gest needs the package gest-api, which is not installed; "
        'run `pip install "boids-opt[gest]"`.'
    ) from error

from boids.integrations.gest.generator import BoidsGenerator

__all__ = ["BoidsGenerator"]
