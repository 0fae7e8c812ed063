import numpy as np

from boids.blocks.candidates import box_candidates, choose, perturbed_candidates
from boids.records import Domain, History, Proposal

LOW, HIGH = np.array([0.1, 0.2, 0.0]), np.array([0.3, 0.9, 1.0])


def history(domain, tried=lambda unit: False):
    return History(np.empty((0, domain.dim)), np.empty(0), space=domain, tried=tried)


def test_candidates_fill_the_box():
    points = box_candidates(LOW, HIGH, 300, np.random.default_rng(0))
    assert points.shape == (300, 3)
    assert (points >= LOW).all()
    assert (points <= HIGH).all()
    # quasi-random: the means are nearer to the middle than 300 random points' would be (3 s.e. of the random ones)
    assert (np.abs(points.mean(axis=0) - (LOW + HIGH) / 2) < 0.2 * (HIGH - LOW) / np.sqrt(300)).all()


def test_more_dimensions_than_sobol_has_numbers_for():
    points = box_candidates(np.zeros(21202), np.ones(21202), 2, np.random.default_rng(0))
    assert points.shape == (2, 21202)


def test_up_to_twenty_dimensions_every_coordinate_is_perturbed():
    centre = np.full(20, 0.5)
    points = perturbed_candidates(centre, np.zeros(20), np.ones(20), 64, 20.0, np.random.default_rng(0))
    assert (points != centre).all()


def test_in_more_dimensions_twenty_on_average_and_at_least_one():
    dim = 100
    centre = np.full(dim, 0.5)
    rng = np.random.default_rng(0)
    changed = perturbed_candidates(centre, np.zeros(dim), np.ones(dim), 5000, 20.0, rng) != centre
    count = changed.sum(axis=1)
    # binomial(100, 0.2): mean 20, standard error 4 / √5000
    assert abs(count.mean() - 20.0) < 5 * 4.0 / np.sqrt(5000)
    changed = perturbed_candidates(centre, np.zeros(dim), np.ones(dim), 5000, 1.0, rng) != centre
    assert changed.any(axis=1).all()
    # unlike in the originals, the last coordinate has its turn among the rows that would not move at all
    single = changed[changed.sum(axis=1) == 1]
    assert single[:, -1].any()


def test_the_lowest_that_is_neither_pending_nor_forbidden():
    images = np.array([[0.0], [0.25], [0.5], [0.75]])
    draw = np.array([0.0, 1.0, 2.0, np.nan])
    plain = Domain(1)
    assert choose(draw, images, (), history(plain)) == 0
    assert choose(draw, images, [Proposal(images[0])], history(plain)) == 1
    forbidding = Domain(1, violating=lambda points: (points[:, 0] < 0.4).astype(float))
    assert choose(draw, images, (), history(forbidding)) == 2
    everything = Domain(1, violating=lambda points: np.ones(len(points)))
    assert choose(draw, images, (), history(everything)) == 0
    assert choose(draw, images, [Proposal(image) for image in images], history(plain)) == 0


def test_whole_numbers_are_not_tried_twice():
    images = np.array([[-1.0], [0.0], [1.0]])
    draw = np.array([0.0, 1.0, 2.0])
    domain = Domain(1, snapping=np.round)
    assert choose(draw, images, (), history(domain, tried=lambda unit: unit[0] < 0.5)) == 2
    assert choose(draw, images, (), history(domain, tried=lambda unit: True)) == 0
    noisy = Domain(1, noisy=True, snapping=np.round)
    assert choose(draw, images, (), history(noisy, tried=lambda unit: True)) == 0
