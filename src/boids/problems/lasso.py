"""LassoBench: choose the penalty of each column of a regression so that the fit predicts rows it has not seen.

Šehić, Gramfort, Salmon and Nardi, LassoBench: A High-Dimensional Hyperparameter Optimization Benchmark Suite for
Lasso, AutoML 2022. "lasso-dna" is real data, which the package ships (see ``_data``); the others are made up.

A point x of [-1, 1]^D stands for penalties between a_max / c (x_j = -1) and a_max (x_j = 1), evenly on a logarithmic
scale, where a_max is the smallest common penalty at which all coefficients are zero, and c is 1e5 for the DNA and
100 for the made-up data. The value is the mean squared error of the weighted Lasso, without intercept, under 5-fold
cross-validation; for the made-up data, relative to the error of the true coefficients.

Two things differ between implementations. LassoBench stops its solver early, at a relative duality gap of 1e-4, which
moves values by up to 2e-4 (DNA) and 0.02 (made-up data) at the points compared; here they are exact. And the BOIDS
authors' code leaves all seeds to chance: made-up data, and which rows of the DNA are left out, differ from run to run,
the folds from evaluation to evaluation. That function is noisy, with a standard deviation of 0.002 to 0.005 on the
DNA, where values from good to usual span 0.03; so the best value seen in a run flatters it. It is here as
``noisy=True``. By default all seeds are 42, as in LassoBench itself, and the value is a pure function of x.

======  =========================================================================
symbol  meaning, shape
======  =========================================================================
n, D    rows for cross-validation, columns
x       q points of [-1, 1]^D, (q, D)
a       penalties, (D,)
======  =========================================================================
"""

from __future__ import annotations

import hashlib
import io
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import resources
from typing import Any, final

import numpy as np

from boids.errors import ProblemError
from boids.problems.lasso_solver import Fold, make_fold, one_thread
from boids.problems.lasso_synthetic import SIZES, synthetic_regression
from boids.problems.problem import Problem, ProblemFactory, flag, is_number
from boids.records import FloatArray, IntArray

REFERENCE = (
    "Šehić et al., LassoBench: A High-Dimensional Hyperparameter Optimization Benchmark Suite for Lasso, AutoML 2022"
)

EXTRA = "problems"

SEED = 42
FOLDS = 5
TEST_SHARE = 0.15

DNA = "dna"
DNA_DIM = 180
#: The rows of LIBSVM's training file; the file has those of its test file too.
DNA_ROWS = 2000
DNA_FILE = "dna_statlog_3186x180.npz"
DNA_SHA256 = "1dab48fc952d1442a36f927c049ade27bdcfe884b2bb47a150ac97f9bd68b7e7"

#: a_max / a_min
DNA_RANGE = 1e5
SYNTHETIC_RANGE = 100.0

#: |signal| / |noise| of the made-up data; LassoBench's ``noise=True`` is 3.
SNR = 10.0

#: The order of magnitude of one evaluation, on one core.
COSTS = {
    DNA: "20 to 100 milliseconds",
    "simple": "2 milliseconds",
    "medium": "3 milliseconds",
    "high": "10 milliseconds",
    "hard": "100 milliseconds",
}


@final
@dataclass(frozen=True, slots=True)
class Source:
    """Which regression: all a worker process needs to make it again.

    Attributes
    ----------
    data
        "dna", or one of `SIZES`.
    seed
        Decides made-up data, and which rows are left out of cross-validation.
    snr
        |signal| / |noise| of made-up data.
    """

    data: str
    seed: int = SEED
    snr: float = SNR


@final
@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """A regression, ready for cross-validation.

    Attributes
    ----------
    whole
        All n rows of cross-validation to fit; held out are those left for a last test.
    centre, half
        log a = centre + x · half.
    unit
        What errors are divided by.
    """

    whole: Fold
    centre: float
    half: float
    unit: float

    def value(self, x: FloatArray, folds: tuple[Fold, ...]) -> float:
        """Return the mean error over folds at a point (D,); nan if a coordinate is not finite."""
        if not np.all(np.isfinite(x)):
            return float("nan")
        penalties = np.exp(self.centre + x * self.half)
        with one_thread():
            return float(np.mean([fold.error(penalties) for fold in folds])) / self.unit

    def folds(self, seed: int) -> tuple[Fold, ...]:
        """Divide the rows at random into five parts; each fold holds one of them out."""
        from sklearn.model_selection import KFold

        divisions = KFold(FOLDS, shuffle=True, random_state=seed).split(self.whole.x)
        with one_thread():
            return tuple(_fold(self.whole, fitted, held) for fitted, held in divisions)


@final
@dataclass(frozen=True, slots=True)
class CrossValidation:
    """X -> mean error over the five folds of seed 42; holds the source alone, so that it costs nothing to send."""

    source: Source

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the values (q,) at the rows of `x`."""
        regression, folds = load(self.source), fixed_folds(self.source)
        return np.array([regression.value(point, folds) for point in x], dtype=np.float64)

    def test_error(self, x: FloatArray) -> FloatArray:
        """Return the errors (q,) of fits to all rows on the 15 % of rows that no fold contains: what x is worth."""
        regression = load(self.source)
        return np.array([regression.value(point, (regression.whole,)) for point in x], dtype=np.float64)


@final
@dataclass(slots=True)
class ReshuffledCrossValidation:
    """X -> mean error over five folds that are drawn anew for each evaluation, as in the BOIDS authors' code.

    It counts the evaluations, so that a run with the same seed is the same run. Copies in worker processes would
    count each for itself, and see the same folds again: all evaluations must be made in one process.
    """

    source: Source
    evaluations: int = 0
    _lock: Any = field(default_factory=threading.Lock, repr=False, compare=False)

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return the values (q,) at the rows of `x`."""
        regression = load(self.source)
        with self._lock:
            first, self.evaluations = self.evaluations, self.evaluations + len(x)
        values = np.empty(len(x))
        for row, point in enumerate(x):
            seed = np.random.SeedSequence((self.source.seed, first + row)).generate_state(1)[0]
            values[row] = regression.value(point, regression.folds(int(seed)))
        return values

    def __reduce__(self) -> tuple[Any, ...]:  # a lock cannot be sent
        return ReshuffledCrossValidation, (self.source, self.evaluations)

    def state(self) -> dict[str, int]:
        """Return what the next value depends on, besides x."""
        return {"evaluations": self.evaluations}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go on from a `state`."""
        self.evaluations = int(state["evaluations"])


# The problems, as the registry builds them


def lasso_dna(dim: int, seed: int, *, noisy: bool = False) -> Problem:
    """LassoBench's DNA problem on [-1, 1]^180: tell three kinds of gene windows apart, the class as a number.

    Parameters
    ----------
    seed
        With `noisy`, decides which rows are left out and how folds are drawn; else nothing is random.
    noisy
        Whether to draw new folds for each evaluation, as the BOIDS authors' code does.
    """
    return _problem("lasso-dna", dim, Source(DNA, _data_seed(seed, noisy)), noisy)


def lasso_synthetic(size: str, dim: int, seed: int, *, noisy: bool = False, snr: float = SNR) -> Problem:
    """LassoBench's problem on made-up data, on [-1, 1]^D with the D of its size.

    Parameters
    ----------
    size
        One of `SIZES`.
    seed
        With `noisy`, decides the data, which rows are left out and how folds are drawn; else nothing is random.
    noisy
        Whether to draw new folds for each evaluation, as the BOIDS authors' code does.
    snr
        |signal| / |noise| of the data; LassoBench's ``noise=True`` is 3.
    """
    name = f"lasso-{size}"
    if not is_number(snr) or not 0 < snr < math.inf:
        raise ProblemError(f"snr must be a positive number, but got {snr!r}; leave it out for {SNR:g}.")
    return _problem(name, dim, Source(size, _data_seed(seed, noisy), float(snr)), noisy)


def _problem(name: str, dim: int, source: Source, noisy: bool) -> Problem:
    evaluate = ReshuffledCrossValidation(source) if noisy else CrossValidation(source)
    # What is wrong is better said now than in a worker, and the first evaluation should take no longer than others.
    prepare = load if noisy else fixed_folds
    prepare(source)
    notes = ["new folds at every evaluation, as in the BOIDS authors' code"] if noisy else []
    return Problem(
        name=name,
        evaluate=evaluate,
        low=-np.ones(dim),
        high=np.ones(dim),
        summary="; ".join([FACTORIES[name].summary, *notes]),
        reference=REFERENCE,
        cost=COSTS[source.data],
        noisy=noisy,
    )


def _data_seed(seed: int, noisy: bool) -> int:
    return seed % 2**32 if flag("noisy", noisy) else SEED  # scikit-learn takes 32 bits


# The data


@lru_cache(maxsize=8)
def load(source: Source) -> Regression:
    """Make a regression, once per process."""
    from sklearn.model_selection import train_test_split

    if source.data == DNA:
        x, y = dna()
        truth, ratio = None, DNA_RANGE
    else:
        x, y, truth = synthetic_regression(source.data, source.seed, source.snr)
        ratio = SYNTHETIC_RANGE
    split = train_test_split(x, y, test_size=TEST_SHARE, random_state=source.seed)
    rows, held_rows, targets, held_targets = split
    with one_thread():
        whole = make_fold(rows, targets, rows.T @ rows, rows.T @ targets, held_rows, held_targets)
        unit = 1.0 if truth is None else float(np.mean((rows @ truth - targets) ** 2))
    largest = math.log(np.max(np.abs(whole.moments)) / len(targets))
    half = math.log(ratio) / 2
    return Regression(whole, largest - half, half, unit)


@lru_cache(maxsize=5)
def fixed_folds(source: Source) -> tuple[Fold, ...]:
    """Return the five folds of seed 42, made once per process."""
    return load(source).folds(SEED)


def _fold(whole: Fold, fitted: IntArray, held: IntArray) -> Fold:
    x, y = whole.x[held], whole.y[held]
    # The whole minus a fifth is a quarter of the work, which counts where folds are drawn for each evaluation.
    gram, moments = whole.gram - x.T @ x, whole.moments - x.T @ y
    return make_fold(whole.x[fitted], whole.y[fitted], gram, moments, x, y)


def dna() -> tuple[FloatArray, FloatArray]:
    """Return the indicators (2000, 180) of nucleotides and the classes 1, 2, 3 (2000,), checked against alteration."""
    try:
        content = resources.files("boids.problems").joinpath("_data", DNA_FILE).read_bytes()
    except OSError as error:
        raise ProblemError(f"{DNA_FILE} should be in the package, but {error}; install boids-opt again.") from None
    found = hashlib.sha256(content).hexdigest()
    if found != DNA_SHA256:
        raise ProblemError(
            f"{DNA_FILE} of the package must have the SHA-256 {DNA_SHA256}, but has {found}; install boids-opt again."
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        bits, classes = arrays["X_packed"][:DNA_ROWS], arrays["y"][:DNA_ROWS]
    return np.unpackbits(bits, axis=1, count=DNA_DIM).astype(np.float64), classes.astype(np.float64)


# The registry's entries

DNA_SUMMARY = (
    "the penalties of a Lasso on gene sequences; real, best value with equal penalties 0.3040, best published 0.2921"
)


def _synthetic_factory(size: str) -> ProblemFactory:
    rows, dim, support = SIZES[size]
    return ProblemFactory(
        build=partial(lasso_synthetic, size),
        summary=f"the penalties of a Lasso on made-up data, {rows} rows, {support} of {dim} columns matter",
        reference=REFERENCE,
        domain=f"[-1, 1]^{dim}",
        default_dim=dim,
        minimum_dim=dim,
        optimum=None,
        extra=EXTRA,
        cost=COSTS[size],
        dims=(dim,),
    )


FACTORIES: dict[str, ProblemFactory] = {
    "lasso-dna": ProblemFactory(
        build=lasso_dna,
        summary=DNA_SUMMARY,
        reference=REFERENCE,
        domain="[-1, 1]^180",
        default_dim=DNA_DIM,
        minimum_dim=DNA_DIM,
        optimum=None,
        extra=EXTRA,
        cost=COSTS[DNA],
        kind="real",
        dims=(DNA_DIM,),
    ),
    **{f"lasso-{size}": _synthetic_factory(size) for size in SIZES},
}
