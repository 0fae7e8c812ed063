"""Tuning: values against scikit-learn's own pipelines and cross-validation, mixed spaces, reproducible."""

import pickle
from typing import Any

import numpy as np
import pytest

import boids
from boids.errors import ProblemError
from boids.problems import PROBLEMS, Problem, make
from boids.space import Space

pytest.importorskip("sklearn", reason="needs the extra problems")

NAMES = ("tune-svr", "tune-boosting")

SVR: dict[str, Any] = {
    "use": np.arange(65) < 10,
    "weight": np.ones(10),
    "transform": "standard",
    "target": "plain",
    "kernel": "rbf",
    "C": 0.5,
    "epsilon": 0.1,
    "gamma": 0.03,
    "coef0": 0.0,
    "degree": 3,
}
BOOSTING: dict[str, Any] = {
    "use": np.ones(30, dtype=bool),
    "monotonic": (0,) * 30,
    "learning_rate": 0.2,
    "max_iter": 20,
    "max_leaf_nodes": 6,
    "max_depth": 4,
    "min_samples_leaf": 10,
    "l2_regularization": 1e-3,
    "max_bins": 32,
    "max_features": 0.5,
    "interactions": "any",
}


@pytest.fixture(params=NAMES)
def problem(request: pytest.FixtureRequest) -> Problem:
    return make(request.param)


def sensible(problem: Problem) -> dict[str, Any]:
    return SVR if problem.name == "tune-svr" else BOOSTING


# The spaces


def test_there_are_more_than_fifty_parameters_of_all_types(problem: Problem) -> None:
    parameters = problem.space.parameters.values()
    counts: dict[str, int] = {}
    for parameter in parameters:
        counts[parameter.kind] = counts.get(parameter.kind, 0) + (parameter.shape or 1)
    assert sum(counts.values()) >= 50
    assert set(counts) == {"bool", "float", "categorical", "int"}
    assert any(getattr(parameter, "log", False) for parameter in parameters)
    # What the list of problems says.
    words = {"bool": "Bool", "float": "Float", "categorical": "Categorical", "int": "Int"}
    domain = PROBLEMS[problem.name].domain
    assert sorted(domain.split(", ")) == sorted(f"{count} {words[kind]}" for kind, count in counts.items())
    assert f"{sum(counts.values())} mixed parameters" in problem.summary
    assert problem.dim == PROBLEMS[problem.name].default_dim


def test_the_space_can_be_written_down(problem: Problem) -> None:
    assert Space.from_manifest(problem.space.to_manifest()) == problem.space


# The values


def test_svr_against_a_pipeline_of_scikit_learn() -> None:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR as Machine

    x, y = load_diabetes(return_X_y=True)
    model = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), Machine(C=0.5, epsilon=0.1, gamma=0.03)), transformer=StandardScaler()
    )
    predicted = cross_val_predict(model, x, y, cv=KFold(5, shuffle=True, random_state=0))
    expected = np.sqrt(np.mean((predicted - y) ** 2))
    assert make("tune-svr")(SVR) == pytest.approx(expected, rel=1e-6)


def test_boosting_against_cross_validation_of_scikit_learn() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from threadpoolctl import threadpool_limits

    x, y = load_breast_cancer(return_X_y=True)
    columns = np.arange(30) % 2 == 0
    rising = np.array([-1, 0, 1] * 10)
    names = ("learning_rate", "max_iter", "max_leaf_nodes", "max_depth", "min_samples_leaf", "max_bins", "max_features")
    model = HistGradientBoostingClassifier(
        **{name: BOOSTING[name] for name in names},
        l2_regularization=1e-3,
        monotonic_cst=rising[columns],
        interaction_cst="pairwise",
        early_stopping=False,
        random_state=0,
    )
    with threadpool_limits(1):
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        chances = cross_val_predict(model, x[:, columns], y, cv=folds, method="predict_proba")
    point = {**BOOSTING, "use": columns, "monotonic": tuple(rising.tolist()), "interactions": "pairwise"}
    assert make("tune-boosting", folds=3)(point) == pytest.approx(log_loss(y, chances), rel=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        {"use": np.arange(65) < 30},
        {"weight": np.linspace(0.5, 2, 10)},
        {"transform": "robust"},
        {"transform": "rank"},
        {"target": "root"},
        {"target": "log"},
        {"kernel": "linear"},
        {"kernel": "sigmoid"},
        {"kernel": "poly"},
        {"kernel": "poly", "degree": 2},
        {"kernel": "poly", "coef0": 0.5},
        {"C": 2.0},
        {"epsilon": 0.3},
        {"gamma": 0.1},
    ],
    ids=str,
)
def test_every_parameter_of_svr_matters(change: dict[str, Any]) -> None:
    problem = make("tune-svr", folds=2)
    assert problem({**SVR, **change}) != problem(SVR)


@pytest.mark.parametrize(
    "change",
    [
        {"use": np.arange(30) < 15},
        {"monotonic": (1,) * 30},
        {"learning_rate": 0.1},
        {"max_iter": 10},
        {"max_leaf_nodes": 3},
        {"max_depth": 1},
        {"min_samples_leaf": 50},
        {"l2_regularization": 10.0},
        {"max_bins": 8},
        {"max_features": 1.0},
        {"interactions": "no_interactions"},
    ],
    ids=str,
)
def test_every_parameter_of_boosting_matters(change: dict[str, Any]) -> None:
    problem = make("tune-boosting", folds=2)
    assert problem({**BOOSTING, **change}) != problem(BOOSTING)


def test_sensible_settings_beat_the_mean_and_random_ones() -> None:
    from sklearn.datasets import load_diabetes

    # The prior's log loss is 0.66 for 63 % benign cases; the target's standard deviation 77.
    assert make("tune-boosting")(BOOSTING) < 0.15
    assert make("tune-svr")(SVR) < 0.75 * load_diabetes(return_X_y=True)[1].std()


def test_values_are_reproducible(problem: Problem) -> None:
    small = make(problem.name, folds=2)
    points = [small.space.decode(unit) for unit in np.random.default_rng(0).uniform(-1, 1, (3, small.dim))]
    values = [small(point) for point in points]
    assert np.all(np.isfinite(values))
    copy = pickle.loads(pickle.dumps(small))
    assert [copy(point) for point in reversed(points)] == values[::-1]


def test_no_column_at_all_is_the_first_column_alone(problem: Problem) -> None:
    small, point = make(problem.name, folds=2), sensible(problem)
    none = np.zeros(len(point["use"]), dtype=bool)
    first = np.arange(len(none)) == 0
    assert small({**point, "use": none}) == small({**point, "use": first})


def test_predictions_stay_within_what_was_seen() -> None:
    # A sigmoid kernel with large weights is no kernel, and its predictions explode.
    wild = {**SVR, "kernel": "sigmoid", "weight": np.full(10, 10.0), "C": 10.0, "gamma": 1.0, "target": "log"}
    assert make("tune-svr", folds=2)(wild) < 346 - 25


def test_minimize_takes_them(problem: Problem) -> None:
    small = make(problem.name, folds=2)
    result = boids.minimize(small, small.space, 3, method="random", seed=0)
    assert not any(trial.failed for trial in result.trials)
    assert result.fun == small(result.x)


@pytest.mark.parametrize("name", NAMES)
def test_folds_must_be_a_number(name: str) -> None:
    for folds in (1, 2.5, 21):
        with pytest.raises(ProblemError, match="folds must be an integer from 2 to 20"):
            make(name, folds=folds)
