"""LINE-SELECT and LINE-OPT: each setting changes what it says it changes."""

from types import SimpleNamespace

import numpy as np
import pytest

from boids.algorithms import Boids
from boids.algorithms.boids_lines import acquisition_function, choose_line, draw_function, optimise_on_line
from boids.blocks import acquisition
from boids.blocks.line import Lines
from boids.blocks.nsga2 import NSGA2, Front
from boids.blocks.swarm import Swarm
from boids.gp.model import Hyperparameters, Surrogate
from boids.gp.posterior import Posterior

DIM, PARTICLES = 4, 5
#: The paper's search along the line.
SEARCH = {"line_search": "nsga2", "acquisition": "ts"}


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def swarm():
    r = rng(1)
    return Swarm.at(r.uniform(-0.5, 0.5, (PARTICLES, DIM)), r.normal(size=PARTICLES), r.normal(size=(PARTICLES, DIM)))


@pytest.fixture
def lines(swarm):
    return Lines.through(swarm.positions, rng(2).normal(size=(PARTICLES, DIM)))


@pytest.fixture
def posterior():
    r = rng(3)
    hyper = Hyperparameters(np.full(DIM, 0.7), 1.0, 0.04)
    return Posterior.condition(Surrogate(), hyper, r.uniform(-1, 1, (12, DIM)), r.normal(size=12))


@pytest.fixture
def searched(monkeypatch):
    """Catch what NSGA-II is asked to do instead of doing it."""
    seen = SimpleNamespace()

    def minimise(self, objectives, initial, rng):
        seen.initial, seen.objectives = initial, objectives
        return Front(initial[:3], objectives(initial[:3]), 3)

    monkeypatch.setattr(NSGA2, "minimise", minimise)
    return seen


class FakeDraw:
    """A draw that is zero everywhere and remembers where it was looked at."""

    def on_lines(self, origins, directions, t):
        self.t = t
        return np.zeros(t.shape)


class TestLineSelect:
    @pytest.mark.parametrize(
        ("settings", "per_line"),
        [({}, 400), ({"candidates_per_dim": 3}, 12), ({"bandit_candidates": 50}, 10), ({"max_candidates": 7}, 7)],
    )
    def test_candidates_per_line(self, lines, settings, per_line):
        draw = FakeDraw()
        choose_line(Boids(**settings), draw, 0.0, lines, [], rng())
        assert draw.t.shape == (PARTICLES, per_line)
        assert np.all((draw.t >= lines.low[:, None]) & (draw.t <= lines.high[:, None]))
        # Uniform on the whole chord: both ends are reached.
        if per_line == 400:
            reach = (draw.t - lines.low[:, None]) / (lines.high - lines.low)[:, None]
            assert np.all(reach.min(axis=1) < 0.05)
            assert np.all(reach.max(axis=1) > 0.95)

    def test_noise_is_added_with_the_right_size_or_not_at_all(self, lines):
        """The lowest of 400 normals lies between -4.9 and -1.9 standard deviations but once in 10 000 lines."""
        _, rewards = choose_line(Boids(), FakeDraw(), 0.25, lines, [], rng())
        assert np.all((rewards > 0.5 * 1.9) & (rewards < 0.5 * 4.9))
        _, rewards = choose_line(Boids(ts_noise=False), FakeDraw(), 0.25, lines, [], rng())
        assert not rewards.any()

    def test_without_selection_the_draw_is_not_looked_at(self, lines):
        chosen = {choose_line(Boids(line_selection=False), None, 0.25, lines, [], rng(s))[0] for s in range(60)}
        assert chosen == set(range(PARTICLES))

    def test_the_draw_is_of_the_posterior_with_the_number_of_features_asked_for(self, posterior):
        draw = draw_function(Boids(path_features=33), posterior, np.zeros(DIM), rng())
        assert draw.frequencies.shape == (33, DIM)
        assert draw.update.dtype == np.float32
        double = draw_function(Boids(search_precision="double"), posterior, np.zeros(DIM), rng())
        assert double.update.dtype == np.float64


class TestAcquisition:
    z = np.random.default_rng(5).uniform(-1, 1, (6, DIM))

    def alpha(self, posterior, **settings):
        method = Boids(search_precision="double", **{**SEARCH, **settings})
        draw = draw_function(method, posterior, np.zeros(DIM), rng(1))
        return acquisition_function(method, posterior, draw, np.zeros(DIM), -0.3, rng(2))(self.z), draw

    def test_improvements_are_over_the_best_value_and_the_bound_uses_beta(self, posterior):
        predicted = posterior.predict(self.z)
        np.testing.assert_allclose(
            self.alpha(posterior, acquisition="ei")[0], acquisition.negative_ei(*predicted, -0.3), rtol=1e-9
        )
        np.testing.assert_allclose(
            self.alpha(posterior, acquisition="logei")[0], acquisition.negative_log_ei(*predicted, -0.3), rtol=1e-9
        )
        np.testing.assert_allclose(
            self.alpha(posterior, acquisition="ucb", ucb_beta=2.0)[0],
            acquisition.negative_ucb(*predicted, 2.0),
            rtol=1e-9,
        )

    def test_thompson_values_have_the_noise_or_not(self, posterior):
        mean, variance = posterior.predict(self.z)
        noisy, _ = self.alpha(posterior)
        clean, _ = self.alpha(posterior, ts_noise=False)
        np.testing.assert_allclose((noisy - mean) / np.sqrt(variance + 0.04), (clean - mean) / np.sqrt(variance))

    def test_the_coherent_draw_is_the_bandits(self, posterior):
        values, draw = self.alpha(posterior, acquisition="ts-pathwise")
        np.testing.assert_array_equal(values, draw(self.z))


class TestLineOpt:
    sizes = np.array([4, 1, 9, 1])

    def search(self, lines, swarm, i=3, **settings):
        return optimise_on_line(Boids(**{**SEARCH, **settings}), lambda z: z[:, 0], lines, i, swarm, self.sizes, rng())

    def test_it_starts_on_the_chosen_line_over_its_whole_chord(self, searched, lines, swarm):
        self.search(lines, swarm, search_precision="double")
        assert searched.initial.shape == (400, DIM)
        offset = searched.initial - lines.origins[3]
        t = offset @ lines.directions[3]
        np.testing.assert_allclose(offset, np.outer(t, lines.directions[3]), atol=1e-12)
        assert t.min() < 0.95 * lines.low[3]
        assert t.max() > 0.95 * lines.high[3]

    def test_it_weighs_alpha_against_the_two_incumbents(self, searched, lines, swarm):
        self.search(lines, swarm, search_precision="double")
        z = rng(9).uniform(-1, 1, (7, DIM))
        expected = np.column_stack(
            [
                z[:, 0],
                np.linalg.norm(z - swarm.leader, axis=1),
                np.linalg.norm(z - swarm.best_positions[3], axis=1),
            ]
        )
        assert not np.array_equal(swarm.leader, swarm.best_positions[3])
        np.testing.assert_allclose(searched.objectives(z), expected)

    def test_distances_in_the_input_space_count_every_member_of_a_bin(self, searched, lines, swarm):
        self.search(lines, swarm, search_precision="double", distances="input")
        z = rng(9).uniform(-1, 1, (7, DIM))
        lifted = np.repeat(z - swarm.leader, self.sizes, axis=1)
        np.testing.assert_allclose(searched.objectives(z)[:, 1], np.linalg.norm(lifted, axis=1))

    def test_without_line_optimisation_alpha_alone_is_minimised_from_all_over_the_box(self, searched, lines, swarm):
        self.search(lines, swarm, line_optimisation=False, search_precision="double")
        z = rng(9).uniform(-1, 1, (7, DIM))
        np.testing.assert_array_equal(searched.objectives(z), z[:, :1])
        assert searched.initial.shape == (400, DIM)
        assert np.all(searched.initial.min(axis=0) < -0.9)
        assert np.all(searched.initial.max(axis=0) > 0.9)

    def test_the_point_of_least_alpha_is_taken(self, searched, lines, swarm):
        chosen = self.search(lines, swarm, search_precision="double")
        front = searched.initial[:3]
        np.testing.assert_array_equal(chosen, front[np.argmin(front[:, 0])])

    @pytest.mark.parametrize(
        ("settings", "dtype"),
        [
            ({}, np.float32),
            ({"search_precision": "double"}, np.float64),
            ({"ts_noise": False}, np.float64),
            ({"acquisition": "ts-pathwise", "ts_noise": False}, np.float32),
            ({"acquisition": "ei"}, np.float64),
            ({"acquisition": "logei"}, np.float64),
            ({"acquisition": "ucb"}, np.float64),
        ],
    )
    def test_precision(self, searched, lines, swarm, settings, dtype):
        self.search(lines, swarm, **settings)
        assert searched.initial.dtype == dtype
