"""The paper's theory: published and enumerated values, Monte Carlo, and the counter-example to Lemma 1."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from boids.theory import (
    claimed_lower_bound,
    containment_probability,
    expected_squared_projection,
    hesbo_containment_probability,
    nested_dimensions,
    proven_lower_bound,
    regret_exponent,
    regret_rate,
)


def bin_of_each_coordinate(dim: int, target_dim: int) -> np.ndarray:
    """The bins of BAxUS before the coordinates are permuted."""
    groups = np.array_split(np.arange(dim), target_dim)
    return np.concatenate([np.full(len(group), row) for row, group in enumerate(groups)])


# Theorem 1


@pytest.mark.parametrize(
    ("dim", "target_dim", "effective_dim", "baxus", "hesbo"),
    [
        (7, 3, 2, 0.761905, 0.666667),
        (6, 2, 2, 0.6, 0.5),
        (30, 20, 10, 0.269511, 0.065473),
        (100, 2, 2, 0.505051, 0.5),
        (100, 8, 2, 0.883636, 0.875),
        (100, 32, 2, 0.978182, 0.96875),
        (500, 8, 6, 0.079244, 0.076904),
        (500, 32, 6, 0.625933, 0.607649),
        (500, 128, 6, 0.914431, 0.887894),
        (500, 500, 6, 1.0, 0.970338),
        (100, 60, 20, 0.162436, 0.027894),
        (100, 99, 20, 0.961616, 0.127545),
    ],
)
def test_reference_values(dim: int, target_dim: int, effective_dim: int, baxus: float, hesbo: float) -> None:
    assert containment_probability(dim, target_dim, effective_dim) == pytest.approx(baxus, abs=5e-7)
    assert hesbo_containment_probability(target_dim, effective_dim) == pytest.approx(hesbo, abs=5e-7)


@pytest.mark.parametrize(
    ("target_dim", "effective_dim", "probability"),
    [
        (4, 2, 0.75),
        (6, 6, 0.0154),
        (10, 2, 0.9),
        (20, 2, 0.95),
        (10, 6, 0.1512),
        (12, 6, 0.2228),
        (20, 6, 0.4360),
    ],
)
def test_hesbo_reference_values(target_dim: int, effective_dim: int, probability: float) -> None:
    assert hesbo_containment_probability(target_dim, effective_dim) == pytest.approx(probability, abs=5e-5)


@pytest.mark.parametrize("dim", range(1, 9))
def test_containment_equals_the_count_over_all_positions(dim: int) -> None:
    for target_dim in range(1, dim + 1):
        bins = bin_of_each_coordinate(dim, target_dim)
        for effective_dim in range(dim + 1):
            choices = list(combinations(bins, effective_dim))
            separated = sum(len(set(choice)) == effective_dim for choice in choices)
            expected = float(Fraction(separated, len(choices)))
            assert containment_probability(dim, target_dim, effective_dim) == expected


@pytest.mark.parametrize(("dim", "target_dim", "effective_dim"), [(7, 3, 2), (30, 20, 10), (100, 32, 6)])
def test_containment_by_monte_carlo(dim: int, target_dim: int, effective_dim: int) -> None:
    # The embedding as BAxUS draws it; 5 standard errors: a false-alarm rate below 1e-6, and the seed is fixed.
    rng = np.random.default_rng(7)
    runs, hits = 10_000, 0
    for _ in range(runs):
        bins = np.empty(dim, dtype=int)
        for row, members in enumerate(np.array_split(rng.permutation(dim), target_dim)):
            bins[members] = row
        hits += len(set(bins[:effective_dim].tolist())) == effective_dim
    expected = containment_probability(dim, target_dim, effective_dim)
    assert abs(hits / runs - expected) < 5 * math.sqrt(expected * (1 - expected) / runs)


@pytest.mark.parametrize(("target_dim", "effective_dim"), [(4, 2), (12, 6), (128, 6)])
def test_hesbo_containment_by_monte_carlo(target_dim: int, effective_dim: int) -> None:
    # Independent bins; the same false-alarm rate as above.
    runs = 20_000
    bins = np.random.default_rng(8).integers(target_dim, size=(runs, effective_dim))
    bins.sort(axis=1)
    frequency = np.mean(np.all(np.diff(bins, axis=1) > 0, axis=1))
    expected = hesbo_containment_probability(target_dim, effective_dim)
    assert abs(frequency - expected) < 5 * math.sqrt(expected * (1 - expected) / runs)


@st.composite
def dimensions(draw: st.DrawFn) -> tuple[int, int, int]:
    dim = draw(st.integers(1, 300))
    return dim, draw(st.integers(1, dim)), draw(st.integers(0, min(dim, 30)))


@given(dimensions())
def test_containment_is_a_probability_and_never_below_hesbo(sizes: tuple[int, int, int]) -> None:
    dim, target_dim, effective_dim = sizes
    baxus = containment_probability(dim, target_dim, effective_dim)
    assert hesbo_containment_probability(target_dim, effective_dim) <= baxus <= 1
    assert (baxus == 0) == (effective_dim > target_dim)
    assert containment_probability(dim, dim, effective_dim) == 1


@given(dimensions())
def test_a_larger_subspace_contains_the_optimum_more_often(sizes: tuple[int, int, int]) -> None:
    dim, target_dim, effective_dim = sizes
    if target_dim < dim:
        smaller = containment_probability(dim, target_dim, effective_dim)
        assert smaller <= containment_probability(dim, target_dim + 1, effective_dim)


@given(st.integers(1, 40), st.integers(0, 12))
def test_containment_tends_to_hesbo_in_many_dimensions(target_dim: int, effective_dim: int) -> None:
    limit = hesbo_containment_probability(target_dim, effective_dim)
    for dim in (10**6, 10**6 + 1, 10**6 + 7):
        assert containment_probability(dim, target_dim, effective_dim) == pytest.approx(limit, abs=1e-4)


@pytest.mark.parametrize("arguments", [(10, 0, 1), (10, 11, 1), (10, 5, 11), (10, 5, -1)])
def test_impossible_dimensions_are_refused(arguments: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="target_dim must be at least 1 and effective_dim at least 0"):
        containment_probability(*arguments)
    if arguments[0] >= max(arguments):
        with pytest.raises(ValueError, match="target_dim must be"):
            hesbo_containment_probability(*arguments[1:])


# The nested subspaces


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (1, (1,)),
        (2, (2,)),
        (3, (3,)),
        (4, (1, 4)),
        (10, (2, 8, 10)),
        (20, (1, 4, 16, 20)),
        (50, (3, 12, 48, 50)),
        (60, (1, 4, 16, 60)),
        (100, (2, 8, 32, 100)),
        (102, (2, 8, 32, 102)),
        (124, (2, 8, 32, 124)),
        (180, (3, 12, 48, 180)),
        (200, (3, 12, 48, 192, 200)),
        (300, (1, 4, 16, 64, 256, 300)),
        (388, (2, 8, 32, 128, 388)),
        (500, (2, 8, 32, 128, 500)),
        (1000, (1, 4, 16, 64, 256, 1000)),
    ],
)
def test_nested_dimensions(dim: int, expected: tuple[int, ...]) -> None:
    assert nested_dimensions(dim) == expected


@given(st.integers(1, 600), st.integers(1, 5))
def test_splitting_keeps_the_bins_balanced(dim: int, new_bins: int) -> None:
    """Why Theorem 1 holds after splits as well: the bin sizes are those of a fresh embedding of that dimension."""
    visited = nested_dimensions(dim, new_bins)
    sizes = [len(group) for group in np.array_split(np.arange(dim), visited[0])]
    for target_dim in visited[1:]:
        pieces = [min(new_bins + 1, size) if target_dim < dim else size for size in sizes]
        sizes = [
            len(group)
            for size, count in zip(sizes, pieces, strict=True)
            for group in np.array_split(np.arange(size), count)
        ]
        fresh = [len(group) for group in np.array_split(np.arange(dim), target_dim)]
        assert sorted(sizes) == sorted(fresh)


def test_impossible_nesting_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        nested_dimensions(0)


# Lemma 1

vectors = arrays(np.float64, 5, elements=st.floats(-100, 100).map(lambda value: round(value, 3)))


def projections(
    g: np.ndarray, h1: np.ndarray, h2: np.ndarray, inertia: np.ndarray, *, runs: int, seed: int
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    r1, r2 = rng.random((2, runs, g.size))
    return ((inertia + r1 * h1 + r2 * h2) @ g) ** 2


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("with_inertia", [False, True])
def test_the_identity_by_monte_carlo(seed: int, with_inertia: bool) -> None:
    # 5 standard errors: a false-alarm rate below 1e-6 a case, and the seeds are fixed.
    g, h1, h2, inertia = np.random.default_rng(seed).standard_normal((4, 6))
    inertia = inertia * with_inertia
    samples = projections(g, h1, h2, inertia, runs=100_000, seed=seed + 100)
    expected = expected_squared_projection(g, h1, h2, inertia if with_inertia else None)
    assert abs(samples.mean() - expected) < 5 * samples.std() / math.sqrt(samples.size)


@given(vectors, vectors, vectors)
def test_the_identity_in_the_form_of_single_terms(g: np.ndarray, h1: np.ndarray, h2: np.ndarray) -> None:
    single = sum(np.sum((g * h) ** 2) / 12 + np.dot(g, h) ** 2 / 4 for h in (h1, h2))
    cross = np.dot(g, h1) * np.dot(g, h2) / 2
    scale = np.sum(g**2) * np.sum(h1**2 + h2**2)
    assert expected_squared_projection(g, h1, h2) == pytest.approx(single + cross, rel=1e-9, abs=1e-12 * scale)


@pytest.mark.parametrize("dim", [2, 5, 100])
def test_the_counter_example(dim: int) -> None:
    g = h1 = np.ones(dim)
    expected = expected_squared_projection(g, h1, -h1)
    claimed = claimed_lower_bound(g, h1, -h1)
    assert expected == pytest.approx(dim / 6)
    assert claimed == pytest.approx(dim**2 / 2)
    assert expected < claimed
    samples = projections(g, h1, -h1, np.zeros(dim), runs=20_000, seed=1)
    # Not a matter of algebra: samples too lie below the claimed bound, by more than 5 standard errors.
    assert samples.mean() + 5 * samples.std() / math.sqrt(samples.size) < claimed


@given(vectors, vectors, vectors)
def test_exactly_when_the_claimed_bound_holds(g: np.ndarray, h1: np.ndarray, h2: np.ndarray) -> None:
    slack = np.sum((g * h1) ** 2 + (g * h2) ** 2) / 6 + np.dot(g, h1) * np.dot(g, h2)
    difference = expected_squared_projection(g, h1, h2) - claimed_lower_bound(g, h1, h2)
    scale = np.sum(g**2) * np.sum(h1**2 + h2**2)
    assert difference == pytest.approx(slack / 2, rel=1e-9, abs=1e-12 * scale)


@given(vectors, vectors, vectors, vectors)
def test_the_proven_bound_holds_always(g: np.ndarray, h1: np.ndarray, h2: np.ndarray, inertia: np.ndarray) -> None:
    bound = proven_lower_bound(g, h1, h2) * (1 - 1e-12)
    assert bound <= expected_squared_projection(g, h1, h2)
    assert bound <= expected_squared_projection(g, h1, h2, inertia)
    # The worst inertia cancels the mean, and then only the variance is left.
    assert bound <= expected_squared_projection(g, h1, h2, -(h1 + h2) / 2)


def test_the_proven_bound_is_attained() -> None:
    g, h1, h2 = np.array([0.0, 3.0, 0.0]), np.array([5.0, 1.0, -2.0]), np.array([1.0, -1.0, 2.0])
    assert proven_lower_bound(g, h1, h2) == pytest.approx(expected_squared_projection(g, h1, h2), rel=1e-14)


def test_a_particle_at_both_incumbents_has_no_direction() -> None:
    g, nowhere = np.ones(4), np.zeros(4)
    assert expected_squared_projection(g, nowhere, nowhere) == 0
    assert expected_squared_projection(g, nowhere, nowhere, inertia=g) == 16


@given(st.integers(0, 10**6))
def test_for_a_convex_function_the_claimed_bound_holds_at_the_gradient(seed: int) -> None:
    """What docs/theory.md proves: incumbents are no worse than the particle, so both products are ≤ 0."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((5, 5))
    hessian = root @ root.T + 0.1 * np.eye(5)
    alpha, beta = np.linalg.eigvalsh(hessian)[[0, -1]]
    points = rng.standard_normal((3, 5))
    values = np.einsum("ij,jk,ik->i", points, hessian, points) / 2
    best, own, particle = points[np.argsort(values)]
    best_value, own_value, value = np.sort(values)
    gradient, h1, h2 = hessian @ particle, own - particle, best - particle
    expected = expected_squared_projection(gradient, h1, h2)
    assert claimed_lower_bound(gradient, h1, h2) <= expected
    # The angle to an incumbent, by the share of the particle's gap that the incumbent has closed.
    for h, reached in ((h1, own_value), (h2, best_value)):
        squared_cosine = np.dot(gradient, h) ** 2 / (np.sum(gradient**2) * np.sum(h**2))
        assert squared_cosine >= (1 - 1e-9) * alpha / beta * (value - reached) / value


def test_vectors_of_different_shapes_are_refused() -> None:
    for function in (expected_squared_projection, claimed_lower_bound, proven_lower_bound):
        with pytest.raises(ValueError, match=r"same shape \(d,\)"):
            function(np.ones(3), np.ones(3), np.ones(4))
        with pytest.raises(ValueError, match=r"same shape \(d,\)"):
            function(np.ones((1, 3)), np.ones((1, 3)), np.ones((1, 3)))
    with pytest.raises(ValueError, match=r"same shape \(d,\)"):
        expected_squared_projection(np.ones(3), np.ones(3), np.ones(3), inertia=np.ones(2))


# Proposition 1


def test_the_exponent_for_matern_five_halves() -> None:
    assert regret_exponent(5 / 2) == pytest.approx(3 / 14, rel=1e-14)
    assert regret_exponent() == regret_exponent(2.5)
    assert regret_exponent(math.inf) == 0.5
    assert regret_exponent(1.0) == 0
    assert regret_exponent(0.5) < 0


@given(st.integers(2, 500), st.integers(1, 1000), st.floats(1.01, 50))
def test_the_rate_by_its_formula(budget: int, dim: int, nu: float) -> None:
    kappa = 1 / (nu + 1)
    expected = math.exp((0.5 - kappa) * (math.log(dim) + math.log(math.log(budget)) - math.log(budget)))
    assert regret_rate(budget, dim, nu) == pytest.approx(expected, rel=1e-10)
    # log T / T falls from T = 3 on.
    assert regret_rate(budget + 2, dim, nu) <= regret_rate(budget + 1, dim, nu)
    assert regret_rate(budget, dim, nu) <= regret_rate(budget, dim + 1, nu)


@pytest.mark.parametrize("arguments", [(1, 10), (100, 0)])
def test_impossible_budgets_are_refused(arguments: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="budget must be at least 2"):
        regret_rate(*arguments)


@pytest.mark.parametrize("nu", [0.0, -1.0, math.nan])
def test_impossible_smoothness_is_refused(nu: float) -> None:
    with pytest.raises(ValueError, match="nu must be a positive number"):
        regret_exponent(nu)
