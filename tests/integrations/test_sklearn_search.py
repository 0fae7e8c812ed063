"""BoidsSearchCV: scikit-learn's own checks, and what the search does."""

import pickle

import joblib
import numpy as np
import pytest
import scipy.stats
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import boids
from boids.integrations.sklearn import BoidsSearchCV

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
ALPHA = {"alpha": boids.Float(1e-3, 1e3, log=True)}


class Fragile(Ridge):
    """Cannot be fitted with a small alpha, as many a model cannot with odd settings."""

    def fit(self, x, y):
        if self.alpha < 10:
            raise ArithmeticError("too stiff")
        return super().fit(x, y)


def search_of(estimator, space, data=DIABETES, **options):
    return BoidsSearchCV(estimator, space, **({"n_iter": 10, "cv": 2, "random_state": 0} | options)).fit(*data)


def expected_failed_checks(search):
    """What fails for RandomizedSearchCV around a Ridge as well."""
    return {"check_supervised_y_2d": "Ridge takes targets of two dimensions, and has no need to warn of them"}


@parametrize_with_checks(
    [BoidsSearchCV(Ridge(), ALPHA, n_iter=2, cv=2, error_score="raise")], expected_failed_checks=expected_failed_checks
)
@pytest.mark.filterwarnings("ignore")  # those of the checks themselves
def test_what_scikit_learn_expects_of_an_estimator(estimator, check):
    check(estimator)


def test_it_proposes_what_the_native_optimizer_does():
    space = {"C": boids.Float(0.1, 1e3, log=True), "epsilon": boids.Float(0.1, 50)}
    search = search_of(SVR(), space, n_iter=26)
    native = boids.Optimizer(boids.Space(space), budget=26, seed=0)
    for params, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        trial = native.ask()
        assert trial.x == params
        native.tell(trial, -mean)
    assert search.best_score_ == -native.best.value
    assert search.best_params_ == native.best.x
    assert search.best_params_["C"] == search.best_estimator_.C


def test_it_finds_a_good_setting():
    search = search_of(SVR(), {"C": boids.Float(1e-3, 1e3, log=True)}, n_iter=25)
    too_small = search_of(SVR(), {"C": boids.Float(1e-3, 1)})
    assert search.cv_results_["mean_test_score"].max() > 0.4 > 0.2 > too_small.cv_results_["mean_test_score"].max()


def test_every_way_to_write_hyperparameters():
    space = {
        "scale": [StandardScaler(), MinMaxScaler(), "passthrough"],
        "reduce__n_components": scipy.stats.randint(2, 5),
        "reduce__whiten": boids.Bool(),
        "svc__C": scipy.stats.loguniform(1e-2, 1e2),
        "svc__coef0": scipy.stats.uniform(0, 2),
        "svc__kernel": np.array(["rbf", "linear"]),
        "svc__degree": [3],
        "svc__gamma": boids.Categorical(["scale", "auto"]),
    }
    pipeline = Pipeline([("scale", None), ("reduce", PCA()), ("svc", SVC())])
    search = search_of(pipeline, space, IRIS, method="random", n_iter=24)
    seen = {name: {str(params[name]) for params in search.cv_results_["params"]} for name in space}
    assert len(seen["scale"]) == 3
    assert seen["reduce__n_components"] == {"2", "3", "4"}
    assert seen["svc__kernel"] == {"rbf", "linear"}
    assert seen["svc__degree"] == {"3"}
    rates = [params["svc__C"] for params in search.cv_results_["params"]]
    assert 0.25 < np.mean(np.array(rates) < 1) < 0.75
    assert all(0 <= params["svc__coef0"] <= 2 for params in search.cv_results_["params"])
    assert search.best_score_ > 0.9


def test_vectors_are_tuples():
    network = MLPRegressor(max_iter=1, solver="lbfgs")
    space = boids.Space({"hidden_layer_sizes": boids.Int(1, 3, shape=4)})
    with pytest.warns(Warning, match="converge"):
        search = search_of(network, space, method="random", n_iter=3)
    assert all(len(params["hidden_layer_sizes"]) == 4 for params in search.cv_results_["params"])
    assert isinstance(search.best_params_["hidden_layer_sizes"], tuple)


def test_several_metrics():
    search = search_of(Ridge(), ALPHA, scoring=["r2", "neg_mean_absolute_error"], refit="neg_mean_absolute_error")
    results = search.cv_results_
    assert search.best_score_ == results["mean_test_neg_mean_absolute_error"].max()
    alone = search_of(Ridge(), ALPHA, scoring="neg_mean_absolute_error")
    assert results["params"] == alone.cv_results_["params"]


def test_metrics_that_only_a_call_tells():
    def both(estimator, x, y):
        return {"good": estimator.score(x, y), "size": abs(estimator.coef_).sum()}

    search = search_of(Ridge(), ALPHA, scoring=both, refit="good")
    assert search.best_score_ == search.cv_results_["mean_test_good"].max()
    with pytest.raises(ValueError, match="refit must name the one to optimise"):
        search_of(Ridge(), ALPHA, scoring=both, refit=False)


@pytest.mark.parametrize("refit", [False, True, lambda results: 0])
def test_several_metrics_need_one_to_optimise(refit):
    with pytest.raises(ValueError, match="refit"):
        search_of(Ridge(), ALPHA, scoring=["r2", "neg_max_error"], refit=refit)


def test_jobs_change_nothing():
    one = search_of(Ridge(), ALPHA, n_iter=24)
    with joblib.parallel_config(backend="threading"):  # processes take seconds to start
        two = search_of(Ridge(), ALPHA, n_iter=24, n_jobs=2)
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


def test_batches():
    search = search_of(Ridge(), ALPHA, n_iter=25, batch_size=4)
    values = [params["alpha"] for params in search.cv_results_["params"]]
    assert len(set(values)) == 25


def test_candidates_that_fail_do_not_end_the_search():
    with pytest.warns(FitFailedWarning):
        search = search_of(Fragile(), ALPHA, n_iter=30)
    assert search.best_params_["alpha"] >= 10
    scores = search.cv_results_["mean_test_score"]
    assert np.isnan(scores).any()
    assert np.isfinite(scores[-3:]).any()  # by then the method knows where it fails


def test_a_search_without_any_success_says_so():
    with (
        pytest.warns(FitFailedWarning, match="of the candidates failed"),
        pytest.raises(ValueError, match="fits failed"),
    ):
        search_of(Fragile(), {"alpha": boids.Float(0, 1)})
    with pytest.raises(ArithmeticError, match="too stiff"):
        search_of(Fragile(), ALPHA, error_score="raise")


def test_a_finite_space_ends_early():
    search = search_of(Ridge(), {"fit_intercept": [True, False], "positive": [True, False]}, n_iter=50)
    assert len(search.cv_results_["params"]) == 4


def test_copies():
    search = BoidsSearchCV(Ridge(), boids.Space(ALPHA), n_iter=4, method=boids.algorithms.Boids(particles=9), cv=2)
    other = clone(search)
    assert other.space == search.space
    assert other.method == search.method
    fitted = other.set_params(estimator__fit_intercept=False, random_state=3).fit(*DIABETES)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(DIABETES[0]), fitted.predict(DIABETES[0]))


def test_a_random_state_will_do_for_a_seed():
    first, second = (search_of(Ridge(), ALPHA, random_state=np.random.RandomState(5), n_iter=3) for _ in range(2))
    assert first.cv_results_["params"] == second.cv_results_["params"]
    assert search_of(Ridge(), ALPHA, random_state=None, n_iter=3).best_score_


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"alpha": (0, 1)}, "'alpha' must be a list of choices"),
        ({"alpha": 1.0}, "'alpha' must be a list of choices"),
        ({"alpha": scipy.stats.norm(0, 1)}, "got the distribution 'norm'"),
        ({"alpha": []}, "at least two"),
        ({}, "empty"),
        ({"alpha": [1.0]}, "empty"),
        (boids.Space([(0, 1)]), "needs names"),
        ([("alpha", [1, 2])], "space"),
    ],
)
def test_what_is_no_space_is_refused(space, words):
    with pytest.raises(ValueError, match=words):
        search_of(DummyRegressor(), space)


def test_numbers_are_checked():
    with pytest.raises(ValueError, match="n_iter"):
        search_of(Ridge(), ALPHA, n_iter=0)
    with pytest.raises(ValueError, match="batch_size"):
        search_of(Ridge(), ALPHA, batch_size=0)
    with pytest.raises(ValueError, match="boids"):
        search_of(Ridge(), ALPHA, method="bods")
