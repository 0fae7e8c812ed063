from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boids.blocks.embedding import Embedding
from boids.blocks.schedule import initial_dimension
from boids.theory import containment_probability

dims = st.tuples(st.integers(1, 60), st.integers(1, 60)).map(lambda pair: (max(pair), min(pair)))


def matrix(embedding):
    """S of the papers, (d, D)."""
    s = np.zeros((embedding.dim, embedding.input_dim))
    s[embedding.bins, np.arange(embedding.input_dim)] = embedding.signs
    return s


@given(dims, st.integers(0, 2**32))
def test_columns_have_one_sign_and_rows_differ_by_at_most_one_member(pair, seed):
    input_dim, dim = pair
    rng = np.random.default_rng(seed)
    embedding = Embedding.random(input_dim, dim, rng)
    s = matrix(embedding)
    assert np.all((s != 0).sum(axis=0) == 1)
    assert set(np.abs(s[s != 0])) == {1.0}
    sizes = (s != 0).sum(axis=1)
    assert sizes.max() - sizes.min() <= 1
    # The first D mod d rows are the larger ones.
    assert np.all(np.diff(sizes) <= 0)
    z = rng.uniform(-1, 1, (4, dim))
    np.testing.assert_array_equal(embedding.lift(z), z @ s)
    assert np.abs(embedding.lift(z)).max() == np.abs(z).max()
    np.testing.assert_array_equal(embedding.project(embedding.lift(z)), z)
    assert not embedding.lift(np.zeros(dim)).any()


@given(dims, st.integers(1, 5), st.integers(0, 2**32))
def test_split_law(pair, new_bins, seed):
    """Images, and so all data, incumbents and displacements, are the same before and after; bit for bit."""
    input_dim, dim = pair
    rng = np.random.default_rng(seed)
    old = Embedding.random(input_dim, dim, rng)
    z = rng.uniform(-1, 1, (3, dim))
    u = old.lift(z)
    visited = [old.dim]
    while old.splittable:
        new, parent = old.split(rng.random(old.dim), new_bins, rng)
        np.testing.assert_array_equal(new.lift(z[:, parent]), u)
        np.testing.assert_array_equal(new.project(u), z[:, parent])
        np.testing.assert_array_equal(parent[: old.dim], np.arange(old.dim))
        assert new.dim > old.dim
        # Nested: members of a new bin were members of one old bin.
        for k in range(new.dim):
            assert set(old.bins[new.bins == k]) == {parent[k]}
        old, z = new, z[:, parent]
        visited.append(old.dim)
    assert old.dim == input_dim
    assert np.all(old.sizes == 1)
    same, parent = old.split(np.ones(old.dim), new_bins, rng)
    assert same is old
    np.testing.assert_array_equal(parent, np.arange(old.dim))


@given(dims, st.integers(0, 2**32), st.sampled_from([np.float64, np.float32]))
def test_the_average_is_the_nearest_image(pair, seed, dtype):
    """Least squares with the matrix S, whose rows are orthogonal: u Sᵀ / (bin sizes)."""
    input_dim, dim = pair
    rng = np.random.default_rng(seed)
    embedding = Embedding.random(input_dim, dim, rng)
    units = rng.uniform(-1, 1, (5, input_dim)).astype(dtype)
    got = embedding.average(units)
    assert got.dtype == dtype
    assert got.shape == (5, dim)
    s = matrix(embedding)
    expected = np.linalg.lstsq(s.T, units.T.astype(float), rcond=None)[0].T
    np.testing.assert_allclose(got, expected, atol=1e-12 if dtype is np.float64 else 1e-5)
    assert np.abs(got).max() <= 1.0
    np.testing.assert_array_equal(embedding.average(units[0]), got[0])


@given(dims, st.integers(0, 2**32))
def test_the_average_of_an_image_is_the_point_itself_up_to_rounding(pair, seed):
    input_dim, dim = pair
    rng = np.random.default_rng(seed)
    embedding = Embedding.random(input_dim, dim, rng)
    z = rng.uniform(-1, 1, (4, dim))
    np.testing.assert_allclose(embedding.average(embedding.lift(z)), z, rtol=1e-14)
    whole = rng.choice([-1.0, 1.0], (4, dim))
    np.testing.assert_array_equal(embedding.average(embedding.lift(whole)), whole)


def test_averages_after_a_split_average_to_those_before():
    rng = np.random.default_rng(2)
    old = Embedding.random(30, 4, rng)
    new, parent = old.split(np.ones(4), 3, rng)
    units = rng.uniform(-1, 1, (6, 30))
    finer = new.average(units)
    for k in range(4):
        mine = parent == k
        regrouped = finer[:, mine] @ new.sizes[mine] / new.sizes[mine].sum()
        np.testing.assert_allclose(regrouped, old.average(units)[:, k], atol=1e-14)


@pytest.mark.parametrize(
    ("input_dim", "visited"),
    [
        (1, [1]),
        (2, [2]),
        (3, [3]),
        (4, [1, 4]),
        (10, [2, 8, 10]),
        (20, [1, 4, 16, 20]),
        (50, [3, 12, 48, 50]),
        (60, [1, 4, 16, 60]),
        (100, [2, 8, 32, 100]),
        (102, [2, 8, 32, 102]),
        (124, [2, 8, 32, 124]),
        (180, [3, 12, 48, 180]),
        (200, [3, 12, 48, 192, 200]),
        (300, [1, 4, 16, 64, 256, 300]),
        (388, [2, 8, 32, 128, 388]),
        (500, [2, 8, 32, 128, 500]),
        (1000, [1, 4, 16, 64, 256, 1000]),
    ],
)
def test_dimensions_visited(input_dim, visited):
    start, splits = initial_dimension(input_dim, 3)
    rng = np.random.default_rng(0)
    embedding = Embedding.random(input_dim, start, rng)
    got = [embedding.dim]
    while embedding.splittable:
        embedding, _ = embedding.split(np.ones(embedding.dim), 3, rng)
        got.append(embedding.dim)
    assert got == visited
    assert splits <= len(visited) - 1


def test_new_coordinates_are_appended_in_the_order_of_length_scales():
    embedding = Embedding.random(12, 3, np.random.default_rng(0))
    _, parent = embedding.split(np.array([3.0, 1.0, 2.0]), 3, np.random.default_rng(1))
    assert parent.tolist() == [0, 1, 2, 1, 1, 1, 2, 2, 2, 0, 0, 0]


@pytest.mark.parametrize(("input_dim", "dim", "effective"), [(7, 3, 2), (30, 20, 10), (100, 8, 2)])
def test_the_optimum_is_contained_as_often_as_theorem_1_says(input_dim, dim, effective):
    """8000 embeddings: the share with all active dimensions in different bins. Threshold: 4.9 standard errors, a
    false-alarm rate of 1e-6 each."""
    rng = np.random.default_rng(0)
    count = 8000
    hits = sum(len(set(Embedding.random(input_dim, dim, rng).bins[:effective])) == effective for _ in range(count))
    p = containment_probability(input_dim, dim, effective)
    assert abs(hits / count - p) < 4.9 * np.sqrt(p * (1 - p) / count)


def test_signs_are_fair_and_independent_of_bins():
    """Sum of 20 000 fair signs: within 4.9 standard deviations (false alarms: 1e-6)."""
    rng = np.random.default_rng(3)
    total = sum(Embedding.random(100, 7, rng).signs.sum() for _ in range(200))
    assert abs(total) < 4.9 * np.sqrt(20_000)


# --- with a centre of its own --------------------------------------------------------------------------------------


@st.composite
def centred(draw):
    """An embedding through a point that may lie on the boundary, and a generator."""
    input_dim, dim = draw(dims)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    centre = rng.uniform(-1.0, 1.0, input_dim)
    on_boundary = rng.random(input_dim) < draw(st.sampled_from([0.0, 0.3, 1.0]))
    centre[on_boundary] = rng.choice([-1.0, 1.0], on_boundary.sum())
    return replace(Embedding.random(input_dim, dim, rng), centre=centre), rng


@given(centred(), st.sampled_from([np.float64, np.float32]))
def test_a_centred_map_goes_through_the_centre_and_fills_the_range_of_every_coordinate(pair, dtype):
    embedding, rng = pair
    dim, centre = embedding.dim, embedding.centre
    np.testing.assert_array_equal(embedding.lift(np.zeros(dim)), centre)
    np.testing.assert_array_equal(embedding.project(centre), np.zeros(dim))
    np.testing.assert_array_equal(embedding.average(centre), np.zeros(dim))
    for end in (-1.0, 1.0):
        np.testing.assert_allclose(embedding.lift(np.full(dim, end)), end * embedding.signs, rtol=1e-15)
    z = rng.uniform(-1, 1, (4, dim)).astype(dtype)
    u = embedding.lift(z)
    assert u.dtype == dtype
    assert np.abs(u).max() <= 1.0
    v = embedding.signs * z[:, embedding.bins]
    expected = np.where(v < 0, centre + v * (1 + centre), centre + v * (1 - centre))
    np.testing.assert_allclose(u, expected, atol=1e-15 if dtype is np.float64 else 1e-6)


@given(dims, st.integers(0, 2**32))
def test_the_middle_of_the_box_as_a_centre_changes_nothing(pair, seed):
    rng = np.random.default_rng(seed)
    plain = Embedding.random(*pair, rng)
    centred = replace(plain, centre=np.zeros(pair[0]))
    z, u = rng.uniform(-1, 1, (3, pair[1])), rng.uniform(-1, 1, (3, pair[0]))
    np.testing.assert_array_equal(centred.lift(z), plain.lift(z))
    np.testing.assert_array_equal(centred.project(plain.lift(z)), z)
    np.testing.assert_allclose(centred.average(u), plain.average(u), atol=1e-15)


@given(centred(), st.integers(1, 5))
def test_split_law_with_a_centre(pair, new_bins):
    """Bit for bit as well, for every coordinate is mapped by itself; points are found again up to rounding."""
    old, rng = pair
    z = rng.uniform(-1, 1, (3, old.dim))
    u = old.lift(z)
    while True:
        np.testing.assert_array_equal(old.lift(z), u)
        found = old.project(u)
        np.testing.assert_allclose(old.lift(found), u, atol=1e-13)
        np.testing.assert_allclose(old.lift(old.average(u)), u, atol=1e-13)
        assert np.all(old.holds(u))
        low, high = old.bounds
        assert np.all((found >= low) & (found <= high))
        if not old.splittable:
            break
        old, parent = old.split(rng.random(old.dim), new_bins, rng)
        z = z[:, parent]
    # In the end it is the input space, which has every point.
    anything = rng.uniform(-1, 1, (5, old.input_dim))
    np.testing.assert_allclose(old.lift(old.project(anything)), anything, atol=1e-13)
    assert np.all(old.holds(anything))


@given(centred())
def test_with_a_centre_the_average_is_the_nearest_image_still(pair):
    """No point of a fine grid comes nearer, bin by bin."""
    embedding, rng = pair
    units = rng.uniform(-1, 1, embedding.input_dim)
    grid = np.linspace(-1, 1, 401)
    on_grid = embedding.lift(np.repeat(grid[:, None], embedding.dim, axis=1))
    nearest = embedding.lift(embedding.average(units))
    for k in range(embedding.dim):
        mine = embedding.bins == k
        ours = np.sum((nearest[mine] - units[mine]) ** 2)
        assert ours <= np.sum((on_grid[:, mine] - units[mine]) ** 2, axis=1).min() + 1e-12


def test_a_coordinate_without_room_is_told_by_another_of_its_bin():
    embedding = Embedding(np.array([0, 0, 1, 1]), np.ones(4), 2, np.array([1.0, 0.5, 1.0, 1.0]))
    z = np.array([[0.6, 0.6], [-0.6, -0.6]])
    np.testing.assert_allclose(embedding.project(embedding.lift(z)), [[0.6, 0.0], [-0.6, -0.6]])
    np.testing.assert_array_equal(embedding.bounds, [[-1.0, -1.0], [1.0, 0.0]])


def test_a_subspace_has_its_images_and_no_other_points():
    rng = np.random.default_rng(0)
    embedding = replace(Embedding.random(20, 3, rng), centre=rng.uniform(-1, 1, 20))
    images = embedding.lift(rng.uniform(-1, 1, (4, 3)))
    moved = images + 1e-5 * rng.choice([-1.0, 1.0], images.shape)
    points = np.vstack([images, moved, rng.uniform(-1, 1, (4, 20))])
    assert embedding.holds(points).tolist() == [True] * 4 + [False] * 8
