"""NSGA-II: an elitist genetic algorithm for a few objectives over a box; minimisation throughout.

Reference: Deb, Pratap, Agarwal & Meyarivan, "A fast and elitist multiobjective genetic algorithm: NSGA-II", IEEE
Transactions on Evolutionary Computation 6 (2002). Bounded simulated binary crossover: Deb & Agrawal, Complex Systems
9 (1995); bounded polynomial mutation: Deb & Deb, International Journal of Artificial Intelligence and Soft Computing
4 (2014). Details that these leave open follow pymoo 0.6.

==========  =====================================================  =============
symbol      meaning                                                shape
==========  =====================================================  =============
n, d, k     points, variables, objectives
points      a population's or a batch's points, inside the box     (n, d)
values      their objective vectors                                (n, k)
low, high   the box                                                (d,)
eta         distribution index: the larger, the nearer children
            stay to their parents
==========  =====================================================  =============

Points keep the precision they come in, float32 or float64. Two points are duplicates if all coordinates are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boids.blocks.pareto import crowding_distance, nan_as_worst, non_dominated_ranks
from boids.records import FloatArray, IntArray
from boids.settings import check_settings, setting

Floats: TypeAlias = NDArray[np.floating[Any]]
Objectives: TypeAlias = Callable[[Floats], Floats]

#: Parents closer than this in a variable are not crossed in it, as in Deb's and pymoo's code.
_TOO_CLOSE = 1e-14


@final
@dataclass(frozen=True, slots=True, eq=False)
class Front:
    """The non-dominated members of the final population, and what they cost.

    Attributes
    ----------
    points, values
        The members, shape (m, d), in no particular order, and their objective vectors, shape (m, k), with +inf for nan.
    evaluations
        How many points were evaluated.
    """

    points: Floats
    values: Floats
    evaluations: int


@final
@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Points with their objective vectors, non-dominated ranks and crowding distances."""

    points: Floats
    values: Floats
    ranks: IntArray
    crowding: FloatArray


@final
@dataclass(frozen=True)
class NSGA2:
    """Settings of NSGA-II; `minimise` runs it.

    Attributes
    ----------
    population
        Points that survive a generation. The initial population may have any size.
    offspring
        New points per generation; None: as many as `population`.
    generations
        Generations, of which the first evaluates the initial population.
    crossover_eta, mutation_eta
        Distribution indices.
    crossover_probability
        Probability that a pair of parents is crossed; otherwise it is copied.
    variable_crossover_probability
        Probability that a variable of a crossed pair is crossed.
    exchange_probability
        Probability that the upper of two crossed values goes to the first child, the lower to the second.
    mutation_probability
        Probability that a child may mutate.
    variable_mutation_probability
        Probability that a variable of such a child mutates; None: min(0.5, 1/d).
    mating_attempts
        How often, at most, parents mate in a generation to replace children that are duplicates.
    """

    population: int = setting(100, least=1)
    offspring: int | None = setting(100, least=1)
    generations: int = setting(100, least=1)
    crossover_eta: float = setting(15.0, least=0)
    crossover_probability: float = setting(0.9, least=0, most=1)
    variable_crossover_probability: float = setting(0.5, least=0, most=1)
    exchange_probability: float = setting(0.5, least=0, most=1)
    mutation_eta: float = setting(20.0, least=0)
    mutation_probability: float = setting(0.9, least=0, most=1)
    variable_mutation_probability: float | None = setting(None, least=0, most=1)
    mating_attempts: int = setting(100, least=1)

    def __post_init__(self) -> None:
        check_settings(self)

    def minimise(
        self,
        objectives: Objectives,
        initial: Floats,
        rng: np.random.Generator,
        low: ArrayLike = -1.0,
        high: ArrayLike = 1.0,
    ) -> Front:
        """Return the non-dominated set found from the initial population.

        Parameters
        ----------
        objectives
            Maps a batch of points, shape (q, d), to objective vectors, shape (q, k). It is called once with the
            initial population (clipped to the box, without duplicates) and once per generation with the offspring.
        initial
            The initial population, shape (n, d); all of it takes part in the first mating.
        rng
            The only source of randomness.
        low, high
            The box, as numbers or arrays of shape (d,).
        """
        low, high, points = _in_box(initial, low, high)
        points = without_duplicates(points, set())
        parents = survive(points, _evaluate(objectives, points), len(points), rng)
        evaluations = len(points)
        for _ in range(self.generations - 1):
            children = self.mate(parents, low, high, rng)
            if len(children) == 0:
                break
            parents = survive(
                np.concatenate((parents.points, children)),
                np.concatenate((parents.values, _evaluate(objectives, children))),
                self.population,
                rng,
            )
            evaluations += len(children)
        best = parents.ranks == 0
        return Front(parents.points[best], parents.values[best], evaluations)

    def mate(self, parents: Population, low: Floats, high: Floats, rng: np.random.Generator) -> Floats:
        """Return children that differ from all parents and from each other: `offspring` of them, or what was found."""
        wanted = self.population if self.offspring is None else self.offspring
        taken = set(_rows(parents.points))
        broods: list[Floats] = []
        for _ in range(self.mating_attempts):
            pairs = tournament(parents, 2 * ((wanted + 1) // 2), rng).reshape(-1, 2)
            children = crossover(
                parents.points[pairs.T],
                low,
                high,
                rng,
                eta=self.crossover_eta,
                probability=self.crossover_probability,
                variable_probability=self.variable_crossover_probability,
                exchange_probability=self.exchange_probability,
            )
            children = mutate(
                children.reshape(-1, children.shape[-1]),
                low,
                high,
                rng,
                eta=self.mutation_eta,
                probability=self.mutation_probability,
                variable_probability=self.variable_mutation_probability,
            )
            broods.append(without_duplicates(children, taken)[:wanted])
            wanted -= len(broods[-1])
            if wanted == 0:
                break
        return np.concatenate(broods)


def tournament(parents: Population, count: int, rng: np.random.Generator) -> IntArray:
    """Return the winners of `count` binary tournaments, as indices.

    Opponents are neighbours in random permutations, so that everybody plays about equally often. The one that
    dominates wins, else the one in the emptier place, else a coin decides.
    """
    n = len(parents.points)
    rounds = -(-2 * count // n)
    draw = np.concatenate([rng.permutation(n) for _ in range(rounds)])[: 2 * count]
    first, second = draw[0::2], draw[1::2]
    mine, theirs = parents.values[first], parents.values[second]
    no_worse, no_better = (mine <= theirs).all(axis=1), (mine >= theirs).all(axis=1)
    mine, theirs = parents.crowding[first], parents.crowding[second]
    emptier = (mine > theirs) | ((mine == theirs) & _coins(rng, count, 0.5))
    # First dominates second if it is no worse and not no better; both or neither is no dominance.
    return np.where(np.where(no_worse != no_better, no_worse, emptier), first, second)


def crossover(
    parents: Floats,
    low: Floats,
    high: Floats,
    rng: np.random.Generator,
    *,
    eta: float,
    probability: float,
    variable_probability: float,
    exchange_probability: float,
) -> Floats:
    """Return the children of bounded simulated binary crossover, as (2, m, d): first children, second children.

    Parameters
    ----------
    parents
        The pairs, shape (2, m, d).
    low, high
        The box, shape (d,).
    eta
        Distribution index.
    probability, variable_probability
        Probabilities that a pair is crossed, and a variable of a crossed pair.
    exchange_probability
        Probability that the first child gets the upper value of a crossed variable instead of the lower one.
    """
    _, m, d = parents.shape
    crossed = _coins(rng, m * d, variable_probability).reshape(m, d)
    crossed &= _coins(rng, m, probability)[:, None]
    crossed &= np.abs(parents[0] - parents[1]) > _TOO_CLOSE
    at = np.flatnonzero(crossed)

    children = parents.copy()
    flat = children.reshape(2, m * d)
    pair = flat.take(at, axis=1)
    lower, upper = np.minimum(pair[0], pair[1]), np.maximum(pair[0], pair[1])
    column = at % d
    floor, ceiling = low[column], high[column]
    span = upper - lower
    room = np.array((lower - floor, ceiling - upper))
    # The spread factor q of either side, from one uniform number u (in `scaled`, u times alpha). Beyond the cap the
    # power of beta is lost in alpha's rounding, while powers that underflow are a hundred times slower than others.
    cap = float(np.finfo(parents.dtype).eps) ** (-2.0 / (eta + 1.0))
    beta = np.minimum(1.0 + 2.0 * room / span, cap)
    alpha = 2.0 - beta ** -(eta + 1.0)
    scaled = alpha * rng.random(len(at), dtype=parents.dtype)
    q = (np.minimum(scaled, 1.0) / np.minimum(2.0 - scaled, 1.0)) ** (1.0 / (eta + 1.0))
    below = np.maximum(0.5 * (lower + upper - q[0] * span), floor)
    above = np.minimum(0.5 * (lower + upper + q[1] * span), ceiling)

    exchanged = _coins(rng, len(at), exchange_probability)
    flat[0][at] = np.where(exchanged, above, below)
    flat[1][at] = np.where(exchanged, below, above)
    return children


def mutate(
    points: Floats,
    low: Floats,
    high: Floats,
    rng: np.random.Generator,
    *,
    eta: float,
    probability: float,
    variable_probability: float | None = None,
) -> Floats:
    """Return the points after bounded polynomial mutation, shape (n, d).

    Parameters
    ----------
    points
        Points inside the box, shape (n, d).
    low, high
        The box, shape (d,).
    eta
        Distribution index.
    probability, variable_probability
        Probabilities that a point may mutate, and a variable of such a point; None: min(0.5, 1/d).
    """
    n, d = points.shape
    each = min(0.5, 1.0 / d) if variable_probability is None else variable_probability
    # Few variables mutate. Drawing their number, then their places, is the same law as one coin per variable.
    at = rng.choice(n * d, rng.binomial(n * d, each), replace=False, shuffle=False)
    row, column = np.divmod(at, d)
    kept = _coins(rng, n, probability)[row] & (low < high)[column]
    at, column = at[kept], column[kept]

    mutated = points.copy()
    flat = mutated.reshape(n * d)
    x, floor, ceiling = flat[at], low[column], high[column]
    span = ceiling - floor
    u = rng.random(len(at), dtype=points.dtype)
    down = u <= 0.5
    room = np.where(down, x - floor, ceiling - x) / span
    u = 2.0 * np.minimum(u, 1.0 - u)
    step = 1.0 - (u + (1.0 - u) * (1.0 - room) ** (eta + 1.0)) ** (1.0 / (eta + 1.0))
    flat[at] = np.minimum(np.maximum(x + np.where(down, -step, step) * span, floor), ceiling)
    return mutated


def survive(points: Floats, values: Floats, size: int, rng: np.random.Generator) -> Population:
    """Return the best `size` points: by rank, within a rank by crowding distance, ties at random."""
    ranks = non_dominated_ranks(values, enough=size)
    crowding = crowding_distance(values, ranks)
    if len(points) <= size:
        return Population(points, values, ranks, crowding)
    order = rng.permutation(len(points))
    chosen = order[np.lexsort((-crowding[order], ranks[order]))][:size]
    return Population(points[chosen], values[chosen], ranks[chosen], crowding[chosen])


def without_duplicates(points: Floats, taken: set[bytes]) -> Floats:
    """Return the rows that are not in `taken`, each once, and add them to `taken`."""
    fresh = []
    for i, row in enumerate(_rows(points)):
        if row not in taken:
            taken.add(row)
            fresh.append(i)
    return points if len(fresh) == len(points) else points[fresh]


def _rows(points: Floats) -> list[bytes]:
    """Return each row's bytes: equal exactly if the rows are (adding 0 turns -0 into +0)."""
    rows = np.add(points, 0.0, order="C")
    keys: list[bytes] = rows.view(f"V{rows.strides[0]}")[:, 0].tolist()
    return keys


def _coins(rng: np.random.Generator, count: int, probability: float) -> NDArray[np.bool_]:
    """Return `count` coins that are true with the given probability."""
    if probability != 0.5 or count < 4096:
        return rng.random(count, dtype=np.float32) < probability
    # One random bit per coin instead of 32; many coins must share the cost of the three calls.
    bits = np.frombuffer(rng.bytes(-(-count // 8)), dtype=np.uint8)
    return np.unpackbits(bits, count=count).view(np.bool_)


def _in_box(initial: Floats, low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return low and high as (d,) arrays and the clipped initial population, all in its precision."""
    initial = np.asarray(initial)
    if initial.ndim != 2 or initial.size == 0:
        raise ValueError(
            f"NSGA2.minimise expects an initial population of shape (n, d) with n, d >= 1, got {initial.shape}; "
            "pass one point per row."
        )
    dtype = np.float32 if initial.dtype == np.float32 else np.float64
    low = np.broadcast_to(np.asarray(low, dtype=dtype), initial.shape[1:])
    high = np.broadcast_to(np.asarray(high, dtype=dtype), initial.shape[1:])
    if not np.all(low <= high):
        raise ValueError(f"NSGA2.minimise expects low <= high in every variable, got {low} and {high}.")
    return low, high, np.clip(initial, low, high, dtype=dtype, casting="same_kind")


def _evaluate(objectives: Objectives, points: Floats) -> Floats:
    """Return the objective vectors of a batch, nan as +inf."""
    values = np.array(objectives(points))  # a copy: the caller may reuse its memory for the next batch
    if values.ndim != 2 or len(values) != len(points) or values.shape[1] == 0:
        raise ValueError(
            f"NSGA2.minimise expects objectives to return shape ({len(points)}, k), one row per point, "
            f"got {values.shape}; a single objective needs a column."
        )
    return nan_as_worst(values)
