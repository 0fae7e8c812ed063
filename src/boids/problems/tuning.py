"""Hyper-parameters of scikit-learn models on the data that come with it (extra `problems`): named, mixed spaces.

======================  =====================================================================================
problem                 what is tuned
======================  =====================================================================================
tune-svr                a support vector machine that predicts how diabetes goes on: which of 65 columns to
                        use (10 measurements, their squares and products), the measurements' weights, how they
                        and the target are transformed, and the machine itself. 83 parameters. Efron, Hastie,
                        Johnstone & Tibshirani, Least angle regression, Annals of Statistics 2004
tune-boosting           boosted trees that tell malignant from benign tumours: which of 30 measurements to use,
                        in which of them the risk may only rise or fall, which may interact, and the trees
                        themselves. 69 parameters. Street, Wolberg & Mangasarian, Nuclear feature extraction for
                        breast tumor diagnosis, SPIE 1905, 1993
======================  =====================================================================================

Values are cross-validated with fixed folds and everything is seeded: they are pure functions of the parameters for one
version of scikit-learn. Whatever is fitted is fitted on a fold's training data alone, transformations included.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
n       number of cases: 442, 569
x       measurements (n, 10) or (n, 30)
y       targets (n,)
======  =========================================================================
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from boids.problems import extras
from boids.problems.problem import Problem, ProblemFactory, integer
from boids.records import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from boids.space import Space

Point: TypeAlias = Mapping[str, Any]

EXTRA = "problems"
FOLDS = 5
#: The solver's steps at the most: a few settings would need a hundred times as many, and are not worth it.
MOST_STEPS = 20_000


# The spaces


def svr_space() -> Space:
    """Return the parameters of `tune-svr`."""
    from boids.space import Bool, Categorical, Float, Int, Space

    return Space(
        {
            "use": Bool(shape=65),
            "weight": Float(0.1, 10.0, log=True, shape=10),
            "transform": Categorical(["standard", "robust", "rank"]),
            "target": Categorical(["plain", "root", "log"]),
            "kernel": Categorical(["rbf", "poly", "sigmoid", "linear"]),
            "C": Float(1e-2, 1e1, log=True),
            "epsilon": Float(1e-3, 1.0, log=True),
            "gamma": Float(1e-4, 1.0, log=True),
            "coef0": Float(-1.0, 1.0),
            "degree": Int(2, 4),
        }
    )


def boosting_space() -> Space:
    """Return the parameters of `tune-boosting`."""
    from boids.space import Bool, Categorical, Float, Int, Space

    return Space(
        {
            "use": Bool(shape=30),
            "monotonic": Categorical([-1, 0, 1], shape=30),
            "learning_rate": Float(1e-2, 1.0, log=True),
            "max_iter": Int(5, 100, log=True),
            "max_leaf_nodes": Int(2, 64, log=True),
            "max_depth": Int(1, 8),
            "min_samples_leaf": Int(1, 100, log=True),
            "l2_regularization": Float(1e-6, 1e2, log=True),
            "max_bins": Int(4, 255, log=True),
            "max_features": Float(0.05, 1.0),
            "interactions": Categorical(["any", "pairwise", "no_interactions"]),
        }
    )


# The evaluators


@final
@dataclass(frozen=True, slots=True)
class SvrError:
    """Parameters -> root mean squared error of the predicted progress over all folds."""

    folds: int

    def __call__(self, point: Point) -> float:
        """Return the error."""
        svm = extras.load("sklearn.svm", EXTRA, "tune-svr")
        x, y = _data("load_diabetes", "tune-svr")
        forward, backward = TARGETS[point["target"]]
        names = ("kernel", "C", "epsilon", "gamma", "coef0", "degree")
        machine = svm.SVR(**{name: point[name] for name in names}, max_iter=MOST_STEPS)
        predicted = np.empty_like(y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the solver has used up its steps, or a quantile repeats
            for fitted, held in _splits("KFold", "tune-svr", x, y, self.folds):
                columns = _columns(x, fitted, point)
                goal = forward(y[fitted])
                centre, spread = goal.mean(), goal.std()
                machine.fit(columns[fitted], (goal - centre) / spread)
                guess = centre + spread * machine.predict(columns[held])
                # Nobody would believe a progress that was never seen, and exp would make it infinite.
                predicted[held] = backward(np.clip(guess, goal.min(), goal.max()))
        return float(np.sqrt(np.mean((predicted - y) ** 2)))


@final
@dataclass(frozen=True, slots=True)
class BoostingLoss:
    """Parameters -> mean log loss, -log of the probability that was given to what is the case, over all folds."""

    folds: int

    def __call__(self, point: Point) -> float:
        """Return the loss."""
        from threadpoolctl import threadpool_limits

        ensemble = extras.load("sklearn.ensemble", EXTRA, "tune-boosting")
        x, y = _data("load_breast_cancer", "tune-boosting")
        used = _at_least_one(np.asarray(point["use"], dtype=bool))
        settings = {name: point[name] for name in point if name not in ("use", "monotonic", "interactions")}
        trees = ensemble.HistGradientBoostingClassifier(
            **settings,
            monotonic_cst=np.asarray(point["monotonic"])[used],
            interaction_cst=None if point["interactions"] == "any" else point["interactions"],
            early_stopping=False,
            random_state=0,
        )
        chances = np.empty(len(y))
        # One thread: such small trees are not faster with more, and processes side by side would share the cores.
        with threadpool_limits(1):
            for fitted, held in _splits("StratifiedKFold", "tune-boosting", x, y, self.folds):
                trees.fit(x[fitted][:, used], y[fitted])
                probabilities = trees.predict_proba(x[held][:, used])
                chances[held] = probabilities[np.arange(len(held)), y[held].astype(np.int64)]
        # Probabilities are kept away from 0 as in other log losses, or one sure mistake would be infinitely bad.
        return float(-np.mean(np.log(np.maximum(chances, np.finfo(np.float64).eps))))


def _columns(x: FloatArray, fitted: IntArray, point: Point) -> FloatArray:
    """Return the columns that are used: weighted measurements, then their squares and products, (n, 1 to 65)."""
    preprocessing = extras.load("sklearn.preprocessing", EXTRA, "tune-svr")
    transform = {
        "standard": preprocessing.StandardScaler,
        "robust": preprocessing.RobustScaler,
        "rank": partial(preprocessing.QuantileTransformer, n_quantiles=100, output_distribution="normal"),
    }[point["transform"]]()
    weighted = transform.fit(x[fitted]).transform(x) * np.asarray(point["weight"])
    first, second = np.triu_indices(x.shape[1])
    every = np.hstack([weighted, weighted[:, first] * weighted[:, second]])
    columns: FloatArray = every[:, _at_least_one(np.asarray(point["use"], dtype=bool))]
    return columns


def _at_least_one(used: BoolArray) -> BoolArray:
    """Return which columns to use: the first one if none is to be used, for a model needs something."""
    return used if np.any(used) else np.arange(used.size) == 0


def _identity(values: FloatArray) -> FloatArray:
    return values


#: How the target is transformed for the machine, and back.
TARGETS: dict[str, tuple[Any, Any]] = {
    "plain": (_identity, _identity),
    "root": (np.sqrt, np.square),
    "log": (np.log, np.exp),
}


@lru_cache(maxsize=4)
def _data(loader: str, problem: str) -> tuple[FloatArray, FloatArray]:
    x, y = getattr(extras.load("sklearn.datasets", EXTRA, problem), loader)(return_X_y=True)
    return np.ascontiguousarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)


def _splits(kind: str, problem: str, x: FloatArray, y: FloatArray, folds: int) -> Iterator[tuple[IntArray, IntArray]]:
    selection = extras.load("sklearn.model_selection", EXTRA, problem)
    folder = getattr(selection, kind)(folds, shuffle=True, random_state=0)
    splits: Iterator[tuple[IntArray, IntArray]] = folder.split(x, y)
    return splits


# The problems, as the registry builds them


def tune(name: str, dim: int, seed: int, *, folds: int = FOLDS) -> Problem:
    """Tune a model; `folds` of the cross-validation."""
    del dim, seed  # both are fixed
    model, factory = MODELS[name], FACTORIES[name]
    _data(model.loader, name)  # what is wrong is better said now than in a worker
    return Problem(
        name=name,
        evaluate=model.evaluator(integer("folds", folds, 2, 20)),
        summary=factory.summary,
        reference=factory.reference,
        cost=factory.cost,
        search_space=model.space(),
    )


@final
@dataclass(frozen=True, slots=True)
class Model:
    """What is tuned: scikit-learn's loader of the data, the space, and the evaluator of a number of folds."""

    loader: str
    space: Callable[[], Space]
    evaluator: Callable[[int], SvrError | BoostingLoss]


MODELS = {
    "tune-svr": Model("load_diabetes", svr_space, SvrError),
    "tune-boosting": Model("load_breast_cancer", boosting_space, BoostingLoss),
}

FACTORIES: dict[str, ProblemFactory] = {
    "tune-svr": ProblemFactory(
        build=partial(tune, "tune-svr"),
        summary="a support vector machine on the diabetes data, 83 mixed parameters, error of the prediction",
        reference="Efron et al., Least angle regression, Annals of Statistics 2004; scikit-learn",
        domain="65 Bool, 14 Float, 3 Categorical, 1 Int",
        default_dim=90,
        minimum_dim=90,
        dims=(90,),
        optimum=None,
        extra=EXTRA,
        cost="0.05 to 1 s",
        kind="real",
    ),
    "tune-boosting": ProblemFactory(
        build=partial(tune, "tune-boosting"),
        summary="boosted trees on the breast cancer data, 69 mixed parameters, log loss of the prediction",
        reference="Street et al., Nuclear feature extraction for breast tumor diagnosis, SPIE 1905, 1993; scikit-learn",
        domain="30 Bool, 31 Categorical, 5 Int, 3 Float",
        default_dim=131,
        minimum_dim=131,
        dims=(131,),
        optimum=None,
        extra=EXTRA,
        cost="0.1 to 1 s",
        kind="real",
    ),
}
