"""pycma's evolution strategy as plain data: what it was made from and what it was told, replayed when it is needed.

The library's object is never saved. It is a function of an `Evolution`, a small frozen record, and is made again by
telling it the same generations with the same random numbers, bit for bit. A few objects are kept in a cache beside
the runs, so that a run which simply goes on replays nothing; losing the cache costs time, never a bit.

Hansen & Ostermeier, *Completely Derandomized Self-Adaptation in Evolution Strategies*, 2001; Hansen, Akimoto & Baudis,
*CMA-ES/pycma*, doi:10.5281/zenodo.2559634.

Notation
--------
λ       population: points per generation
x       a point of the unit box, as pycma's bounds are [0, 1]^D        (D,)
m, σ    mean and step size of the strategy, before its bound transform
A       axes: m + A z with z standard normal is a sample               (D, D)
"""

from __future__ import annotations

import math
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib import import_module
from typing import Any, final

import numpy as np

from boids.errors import MethodError, MissingExtra
from boids.gp.linalg import blas_threads
from boids.records import FloatArray, IntArray

#: pycma does not work on a line; a second coordinate, which nobody looks at, makes a box of it.
LEAST_DIM = 2
#: Half the width of the bound transform's quadratic pieces on [0, 1] (pycma: 5 % of max(|bound|, 1)).
MARGIN = 0.05
#: Numbers in all objects that are kept, 200 MB: hundreds of runs at D = 100, and four at D = 1000.
KEPT = 25_000_000


def default_population(dim: int) -> int:
    """Return λ = 4 + ⌊3 ln D⌋ (for one coordinate as for two, for so it is evolved)."""
    return 4 + math.floor(3.0 * math.log(max(dim, LEAST_DIM)))


@final
@dataclass(frozen=True, slots=True)
class Evolution:
    """All that an evolution strategy depends on.

    Attributes
    ----------
    start
        Its first mean, in [0, 1]^D.
    sigma
        Its first step size, relative to the box.
    population
        λ.
    seed
        Of its random numbers.
    members
        Of every told generation, which points it was told (G, λ): numbers of samples, or rows of the history.
    values
        Of every told generation, the values as they were then (G, λ).
    trace, before
        Fingerprints of all told generations, and of all but the last.
    version
        Of pycma: another one may make other samples.
    """

    start: FloatArray
    sigma: float
    population: int
    seed: int
    members: IntArray
    values: FloatArray
    trace: str
    before: str
    version: str

    @classmethod
    def at(cls, unit: FloatArray, sigma: float, population: int, seed: int) -> Evolution:
        """Return the strategy that begins at a point of the signed cube."""
        start = np.clip(0.5 * (unit + 1.0), 0.0, 1.0)
        trace = _fingerprint("", start, np.array([sigma, population, seed]))
        nothing, version = np.empty((0, population)), str(cma().__version__)
        return cls(start, sigma, population, seed, nothing.astype(np.int64), nothing, trace, "", version)

    def __len__(self) -> int:
        return len(self.members)

    def told(self, members: IntArray, values: FloatArray, points: FloatArray | None = None) -> Evolution:
        """Return the evolution with one more generation; `points` if they are not the strategy's own samples."""
        known = ranked_last(values)
        return replace(
            self,
            members=np.vstack([self.members, members]),
            values=np.vstack([self.values, known]),
            trace=_fingerprint(self.trace, members, known, np.empty(0) if points is None else points),
            before=self.trace,
        )


def ranked_last(values: FloatArray) -> FloatArray:
    """Return the values of a generation with something worse than all of them in the place of failures (nan)."""
    good = values[~np.isnan(values)]
    if not len(good):
        return np.zeros_like(values)
    worst, best = float(good.max()), float(good.min())
    with np.errstate(over="ignore"):
        step = worst - best or max(1.0, abs(worst))
        beyond = min(worst + step, float(np.finfo(float).max))
    return np.where(np.isnan(values), beyond, values)


@final
class Strategy:
    """pycma's object after some generations, and how to work with it in [0, 1]^D."""

    def __init__(self, evolution: Evolution) -> None:
        installed = str(cma().__version__)
        if len(evolution) and installed != evolution.version:
            raise MethodError(
                f"The run was made with pycma {evolution.version} and cannot go on exactly with {installed}; "
                f"run `pip install cma=={evolution.version}`."
            )
        self.dim = len(evolution.start)
        self._population = evolution.population
        self._seed = evolution.seed
        self._rng = np.random.default_rng(0)  # another one for every sampling
        self._samples: dict[int, FloatArray] = {}
        self.generation = 0
        self.stopped: tuple[str, ...] = ()
        options = {
            "bounds": [0.0, 1.0],
            "popsize": evolution.population,
            # Neither NumPy's global random numbers nor files nor the screen.
            "seed": math.nan,
            "randn": lambda *shape: self._rng.standard_normal(shape),
            "verbose": -10,
            "verb_log": 0,
            "verb_disp": 0,
            "signals_filename": "",
        }
        with _undisturbed(self.dim):
            self._es: Any = cma().CMAEvolutionStrategy(self._padded(evolution.start), evolution.sigma, options)

    def sample(self, number: int) -> FloatArray:
        """Return sample `number` of this generation; the same one however often and in whatever order one asks."""
        if not self._samples:
            with _undisturbed(self.dim):
                self._rng = np.random.default_rng([self._seed, self.generation])
                self._samples = dict(enumerate(map(np.asarray, self._es.ask(self._population))))
        if number not in self._samples:  # more than λ were wanted before λ values were there
            # Not through pycma, whose object must not depend on samples that are never told.
            m, axes = self.distribution()
            rng = np.random.default_rng([self._seed, self.generation, number])
            self._samples[number] = self._padded(into_box(m + axes @ rng.standard_normal(axes.shape[1])))
        return self._samples[number][: self.dim]

    def tell(self, points: list[FloatArray], values: FloatArray) -> None:
        """Go on to the next generation; points that are not samples are pulled towards the mean if they are far off."""
        with _undisturbed(self.dim):
            self._es.tell([self._padded(point) for point in points], values.tolist())
            self.generation += 1
            self._samples = {}
            self.stopped = tuple(self._es.stop())  # once in every generation: the check itself counts

    def tell_samples(self, numbers: IntArray, values: FloatArray) -> None:
        """Go on to the next generation with samples of this one."""
        for number in numbers:
            self.sample(int(number))
        # All coordinates of what was handed out: pycma knows its samples by their bytes.
        self.tell([self._samples[int(number)] for number in numbers], values)

    def distribution(self) -> tuple[FloatArray, FloatArray]:
        """Return m (D,) and A (D, D); samples go through `into_box`."""
        self.sample(0)  # brings the axes up to date, exactly as sampling does
        es = self._es
        scaling = np.broadcast_to(np.asarray(es.sigma_vec.scaling, dtype=float), (es.N,))
        axes = (es.sigma * scaling)[:, None] * (es.sm.B * es.sm.D)
        return np.array(es.mean[: self.dim]), np.ascontiguousarray(axes[: self.dim])

    @property
    def size(self) -> int:
        """About how many numbers it keeps: some matrices, and everything else."""
        return 6 * self.dim**2 + 20_000

    @property
    def step_size(self) -> float:
        """σ, relative to the box."""
        return float(self._es.sigma)

    def _padded(self, point: FloatArray) -> FloatArray:
        missing = max(0, LEAST_DIM - len(point))
        return np.append(point, np.full(missing, 0.5)) if missing else point


def into_box(points: FloatArray) -> FloatArray:
    """Return samples inside [0, 1]^D, by pycma's bound transform: linear, quadratic at the bounds, mirrored beyond."""
    period = 1.0 + 2.0 * MARGIN
    t = np.mod(points + MARGIN, 2.0 * period)
    t = np.minimum(t, 2.0 * period - t)  # the distance from -MARGIN, where the mapping turns round
    low = t**2 / (4.0 * MARGIN)
    high = 1.0 - (period - t) ** 2 / (4.0 * MARGIN)
    inside = np.where(t < 2.0 * MARGIN, low, np.where(t > period - 2.0 * MARGIN, high, t - MARGIN))
    return np.clip(inside, 0.0, 1.0)


@contextmanager
def replayed(evolution: Evolution, tell: Callable[[Strategy, int], None]) -> Iterator[Strategy]:
    """Lend the strategy of an evolution, from the cache or made again.

    Parameters
    ----------
    tell
        Tells the strategy one of the generations; it gets the number of that generation.
    """
    strategy = _CACHE.take(evolution.trace)
    if strategy is None:
        strategy = _CACHE.take(evolution.before) if evolution.before else None
        strategy = Strategy(evolution) if strategy is None else strategy
        for generation in range(strategy.generation, len(evolution)):
            tell(strategy, generation)
    yield strategy
    # Whoever was interrupted meanwhile puts nothing back.
    _CACHE.put(evolution.trace, strategy)


@final
class _Cache:
    """The strategies used last, each lent to one user at a time: runs in several threads do not share one."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._kept: OrderedDict[str, Strategy] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, trace: str) -> Strategy | None:
        with self._lock:
            return self._kept.pop(trace, None)

    def put(self, trace: str, strategy: Strategy) -> None:
        with self._lock:
            self._kept[trace] = strategy
            while len(self._kept) > 1 and sum(each.size for each in self._kept.values()) > self.limit:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


_CACHE = _Cache(KEPT)


def forget() -> None:
    """Empty the cache; the next proposal replays."""
    _CACHE.clear()


def cma() -> Any:
    """Return the module pycma.

    Raises
    ------
    MissingExtra
        If it is not installed; with the command that installs it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as that there is no matplotlib
            return import_module("cma")
    except ImportError as error:
        raise MissingExtra(
            f"The methods 'cmaes' and 'cmabo' need pycma, but importing it failed ({error}); "
            "run `pip install 'boids-opt[cma]'`."
        ) from error


@contextmanager
def _undisturbed(dim: int) -> Iterator[None]:
    """Keep pycma's remarks and those of NumPy about huge values away from the user, and BLAS to one thread."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), blas_threads(dim):
        warnings.simplefilter("ignore")
        yield


def _fingerprint(before: str, *arrays: Any) -> str:
    digest = blake2b(before.encode(), digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
