"""BoidsSearchCV: hyper-parameters of scikit-learn's estimators, proposed by boids and cross-validated by scikit-learn.

Pedregosa et al., *Scikit-learn: Machine Learning in Python*, JMLR 2011.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from boids.algorithms import Algorithm
from boids.errors import SpaceExhausted
from boids.integrations.sklearn.hyperparameters import Hyperparameters
from boids.optimizer import Optimizer
from boids.space import Space

#: How scikit-learn's message begins if no fit of a call has succeeded, and if some scores are nan.
_ALL_FAILED, _NOT_FINITE = "All the", "One or more of the .* scores are non-finite"


class BoidsSearchCV(BaseSearchCV):  # type: ignore[misc]  # the library has no types
    """Search hyper-parameters with a method of boids; everything else is as of `RandomizedSearchCV`.

    Candidates with a score of nan are failures, which the method learns to avoid. If no fit of a whole batch succeeds,
    its candidates are not in `cv_results_`.

    Parameters
    ----------
    estimator
        Has the hyper-parameters.
    space
        A named `boids.Space`, or a dict from names such as "svc__C" to lists of choices, to parameters of boids such
        as ``boids.Float(1e-3, 1e3, log=True)``, or to `scipy.stats.uniform`, `loguniform` or `randint`. Values of
        vector parameters are tuples.
    n_iter
        Number of candidates.
    method
        A name such as "boids", or an algorithm with its settings.
    batch_size
        How many candidates to evaluate at a time, so that `n_jobs` has ``batch_size`` times as many fits to do as there
        are folds. Candidates that need no outcome of each other, such as the first ones, come together in any case.
    noisy
        Whether two evaluations of one candidate may differ, as with folds that are drawn anew each time.
    random_state
        An integer makes the search reproducible.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As of `RandomizedSearchCV`. With several metrics, `refit` names the one to optimise.

    Examples
    --------
    >>> import boids
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> space = {"C": boids.Float(1e-2, 1e2, log=True), "kernel": ["rbf", "linear"]}
    >>> search = BoidsSearchCV(SVC(), space, n_iter=12, cv=3, random_state=0).fit(*load_iris(return_X_y=True))
    >>> bool(search.best_score_ > 0.95), len(search.cv_results_["params"])
    (True, 12)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSearchCV._parameter_constraints,
        "space": [Mapping, Space],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "method": [str, object],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "noisy": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        space: Any,
        *,
        n_iter: int = 50,
        method: str | Algorithm[Any] = "boids",
        batch_size: int = 1,
        noisy: bool = False,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.space = space
        self.n_iter = n_iter
        self.method = method
        self.batch_size = batch_size
        self.noisy = noisy
        self.random_state = random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def _run_search(self, evaluate_candidates: Callable[[list[dict[str, Any]]], Any]) -> None:
        """Evaluate `n_iter` candidates; scikit-learn calls this from `fit`."""
        known = Hyperparameters(self.space)
        if isinstance(self.scoring, (list, tuple, set, dict)) and not isinstance(self.refit, str):
            raise ValueError(f"With several metrics, refit must name the one to optimise; got refit={self.refit!r}.")
        optimizer = Optimizer(
            known.space, budget=self.n_iter, method=self.method, seed=self._seed(), noisy=bool(self.noisy)
        )
        failure: ValueError | None = None
        while optimizer.remaining:
            try:
                trials = optimizer.ask(max(self.batch_size, optimizer.ready))
            except SpaceExhausted:  # every candidate there is has been tried
                break
            try:
                with warnings.catch_warnings():
                    # Else once per call, about all candidates so far; there are warnings about the fits themselves.
                    warnings.filterwarnings("ignore", _NOT_FINITE, UserWarning)
                    results = evaluate_candidates([known.candidate(trial.params) for trial in trials])
            except ValueError as error:
                # For scikit-learn a call without any success is a mistake; here it may be a single candidate.
                if not str(error).lstrip().startswith(_ALL_FAILED):
                    raise
                failure, scores = error, np.full(len(trials), np.nan)
                warnings.warn(f"{len(trials)} of the candidates failed. {error}", FitFailedWarning, stacklevel=2)
            else:
                scores = np.asarray(results[self._metric(results)])[-len(trials) :]
            for trial, score in zip(trials, scores, strict=True):
                optimizer.tell(trial, -float(score))
        if failure is not None and optimizer.best is None:
            raise failure

    def _metric(self, results: Mapping[str, Any]) -> str:
        """Return where the scores are that the search maximises."""
        name = "mean_test_score"
        if name in results:
            return name
        if isinstance(self.refit, str) and f"mean_test_{self.refit}" in results:
            return f"mean_test_{self.refit}"
        raise ValueError(f"With several metrics, refit must name the one to optimise; got refit={self.refit!r}.")

    def _seed(self) -> int:
        state = self.random_state
        return int(state) if isinstance(state, Integral) else int(check_random_state(state).randint(2**31 - 1))
