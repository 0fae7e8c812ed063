"""What a method plans with in a study whose length nobody says."""

import pytest

from boids.algorithms import Boids, RandomSearch
from boids.errors import MethodError
from boids.integrations.course import USUAL_BUDGET, planned


def test_a_budget_that_is_given_changes_nothing():
    method = Boids()
    assert planned(method, 40) == (method, 40)
    assert planned("boids", 40) == ("boids", 40)


def test_without_one_there_are_no_sweeps_unless_they_are_asked_for():
    assert planned("boids", None) == (Boids(sweep_from=None), USUAL_BUDGET)
    assert planned(Boids(particles=7), None) == (Boids(particles=7, sweep_from=None), USUAL_BUDGET)
    assert planned(Boids(sweep_from=2.0), None) == (Boids(sweep_from=2.0), USUAL_BUDGET)
    assert planned(RandomSearch(), None) == (RandomSearch(), USUAL_BUDGET)


def test_a_method_that_does_not_exist_is_said_to():
    with pytest.raises(MethodError, match="no method 'bods'"):
        planned("bods", None)
