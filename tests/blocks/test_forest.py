import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boids.blocks.forest import Forest, zoom


def connected(dim, edges):
    """The number of connected parts of a graph, found by spreading labels."""
    labels = list(range(dim))
    for i, j in edges:
        old, new = labels[i], labels[j]
        labels = [new if label == old else label for label in labels]
    return len(set(labels))


@given(dim=st.integers(1, 60), count=st.integers(0, 70), seed=st.integers(0, 2**32 - 1))
def test_a_forest_has_the_edges_asked_for_and_no_cycle(dim, count, seed):
    forest = Forest.random(dim, count, np.random.default_rng(seed))
    assert forest.edges.shape == (min(count, dim - 1), 2)
    # Without a cycle every edge joins two parts.
    assert connected(dim, forest.edges) == dim - len(forest.edges)
    assert sorted({*forest.singles, *forest.edges.ravel()}) == list(range(dim))
    assert not set(forest.singles) & set(forest.edges.ravel())
    assert sorted(edge for edge, *_ in forest.descents) == list(range(len(forest.edges)))


@pytest.mark.parametrize("dim", [100, 124, 180, 500])
def test_the_number_of_edges_of_rducb(dim):
    forest = Forest.random(dim, dim // 5, np.random.default_rng(0))
    assert len(forest.edges) == {100: 20, 124: 24, 180: 36, 500: 100}[dim]


def total(forest, tables, chosen):
    single, pair = tables
    alone = sum(single[row, chosen[i]] for row, i in enumerate(forest.singles))
    return alone + sum(pair[e, chosen[i], chosen[j]] for e, (i, j) in enumerate(forest.edges))


@given(dim=st.integers(1, 6), share=st.floats(0, 1), k=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_dynamic_programming_is_exact(dim, share, k, seed):
    rng = np.random.default_rng(seed)
    forest = Forest.random(dim, round(share * dim), rng)
    tables = rng.standard_normal((len(forest.singles), k)), rng.standard_normal((len(forest.edges), k, k))
    found = total(forest, tables, forest.minimise(tables))
    assert found == pytest.approx(min(total(forest, tables, c) for c in itertools.product(range(k), repeat=dim)))


def test_dynamic_programming_is_exact_in_eight_dimensions():
    rng = np.random.default_rng(0)
    forest = Forest.random(8, 6, rng)
    tables = rng.standard_normal((len(forest.singles), 4)), rng.standard_normal((6, 4, 4))
    choices = np.array(list(itertools.product(range(4), repeat=8)))
    costs = sum(tables[0][row, choices[:, i]] for row, i in enumerate(forest.singles))
    costs = costs + sum(tables[1][e, choices[:, i], choices[:, j]] for e, (i, j) in enumerate(forest.edges))
    np.testing.assert_array_equal(forest.minimise(tables), choices[np.argmin(costs)])


@given(dim=st.integers(1, 12), size=st.integers(2, 200), branching=st.integers(2, 5), seed=st.integers(0, 2**32 - 1))
def test_zooming_finds_the_bottom_of_a_slope(dim, size, branching, seed):
    rng = np.random.default_rng(seed)
    forest = Forest.random(dim, dim // 2, rng)
    signs = rng.choice([-1.0, 1.0], dim)

    def tables(points):
        assert points.shape == (dim, branching)
        assert points.min() >= 0
        assert points.max() < size
        costs = signs[:, None] * points
        i, j = forest.edges.T
        return costs[forest.singles], costs[i][:, :, None] + costs[j][:, None, :]

    found = zoom(forest, tables, size, branching, rng)
    np.testing.assert_array_equal(found, np.where(signs > 0, 0, size - 1))


def test_zooming_takes_few_levels():
    calls = []
    forest = Forest.random(3, 1, np.random.default_rng(0))

    def tables(points):
        calls.append(points)
        return np.zeros((1, 4)), np.zeros((1, 4, 4))

    zoom(forest, tables, 150, 4, np.random.default_rng(0))
    assert len(calls) == 4  # 150, 38, 10, 3, 1
