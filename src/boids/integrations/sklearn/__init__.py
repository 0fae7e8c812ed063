"""scikit-learn: `BoidsSearchCV`, a search for hyper-parameters like `RandomizedSearchCV`."""

from boids.errors import MissingExtra

try:
    import sklearn as _sklearn  # noqa: F401 - whether it is there
except ImportError as error:
    raise MissingExtra(
        "boids.integrations.sklearn needs the package scikit-learn, which is not installed; "
        'run `pip install "boids-opt[sklearn]"`.'
    ) from error

from boids.integrations.sklearn.search import BoidsSearchCV

__all__ = ["BoidsSearchCV"]
