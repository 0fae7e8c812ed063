"""Experiments as they are written down: what is refused, and what becomes of the rest."""

import json
from pathlib import Path

import pytest

from boids.bench.job import Job, jobs_of
from boids.bench.spec import Spec, slug
from boids.errors import BoidsError, InputError
from boids.setup import STREAMS

MINIMAL = {"method": [{"name": "random"}], "problem": [{"name": "ackley", "dim": 5}]}


@pytest.fixture(scope="module")
def experiments():
    """The files of the experiments that come with boids."""
    return sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))


def spec(**changes):
    return Spec.of({**MINIMAL, **changes}, "test")


def test_defaults():
    made = spec()
    assert made.title == "test"
    assert made.seeds == tuple(range(10))
    assert made.budget == 300
    assert made.time_limit is None
    assert [entry.label for entry in made.methods] == ["random"]
    assert [entry.label for entry in made.problems] == ["ackley-5"]


def test_the_nearest_budget_and_limit_hold():
    made = spec(
        budget=10,
        seeds=[3],
        time_limit="2h",
        method=[
            {"name": "random"},
            {"name": "sobol", "budget": 5, "time_limit": "90 s"},
            {"name": "pso", "seeds": [3, 4], "problems": ["b"]},
        ],
        problem=[{"name": "ackley", "dim": 5}, {"name": "branin", "label": "b", "budget": 7, "time_limit": 60}],
    )
    jobs = [(j.problem.label, j.method.label, j.repetition, j.budget, j.time_limit) for j in jobs_of(made)]
    assert jobs == [
        ("ackley-5", "random", 3, 10, 7200.0),
        ("ackley-5", "sobol", 3, 5, 90.0),
        ("b", "random", 3, 7, 60.0),
        ("b", "sobol", 3, 5, 90.0),
        ("b", "pso", 3, 7, 60.0),
        ("b", "pso", 4, 7, 60.0),
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"budgte": 3}, "did you mean 'budget'"),
        ({"budget": 0}, "budget must be a whole number of at least 1, got 0"),
        ({"budget": True}, "budget must be"),
        ({"seeds": "all"}, "seeds must be a number of repetitions"),
        ({"seeds": [1, 1]}, "different from each other"),
        ({"seeds": [-1]}, "seeds must be"),
        ({"seeds": [2**32]}, "seeds must be"),
        ({"time_limit": "2 weeks"}, "A duration is written like"),
        ({"time_limit": -1}, "time_limit must be seconds"),
        ({"method": []}, r"at least one table \[\[method\]\]"),
        ({"problem": {"name": "ackley"}}, r"at least one table \[\[problem\]\]"),
        ({"method": [{"label": "x"}]}, "needs a name"),
        ({"method": [{"name": "random", "option": {}}]}, "did you mean 'options'"),
        ({"method": [{"name": "random", "options": 3}]}, "must be a table"),
        ({"method": [{"name": "random", "label": "(%)"}]}, "needs a letter or a digit"),
        ({"method": [{"name": "random"}, {"name": "random", "label": "RANDOM"}]}, "too much alike"),
        ({"method": [{"name": "random", "problems": ["ackly-5"]}]}, "did you mean 'ackley-5'"),
        ({"method": [{"name": "random", "problems": "ackley-5"}]}, "list of problems' labels"),
        ({"problem": [{"name": "ackley", "dim": 1.5}]}, "dim in .* must be a whole number"),
        ({"title": 3}, "title must be a text"),
    ],
)
def test_what_is_wrong_is_said(changes, words):
    with pytest.raises(InputError, match=words):
        spec(**changes)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        Spec.read(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("budget = [")
    with pytest.raises(InputError, match="is not TOML"):
        Spec.read(tmp_path / "bad.toml")
    (tmp_path / "wrong.toml").write_text("budget = 3")
    with pytest.raises(InputError, match=r"wrong\.toml' cannot be used"):
        Spec.read(tmp_path / "wrong.toml")


def test_every_experiment_that_is_shipped_is_valid(experiments):
    names = {path.stem for path in experiments}
    assert {"paper", "ablation", "runtime", "regression", "smoke", "fair", "results", "ahead", "ahead-long"} <= names
    for path in experiments:
        for job in jobs_of(Spec.read(path)):
            assert job.method.name in {"boids", *_methods()}
            if job.repetition == 0:
                job.make_method()


def test_the_paper_has_its_methods_problems_and_budgets(experiments):
    paper = Spec.read(next(path for path in experiments if path.stem == "paper"))
    jobs = jobs_of(paper)
    assert len(paper.methods) == 14  # twelve, two of them in two sizes
    assert [entry.name for entry in paper.problems] == [
        "ackley", "branin", "hartmann", "mopta", "lasso-dna", "half-cheetah",
    ]  # fmt: skip
    assert len(jobs) == 14 * 6 * 10
    assert {job.budget for job in jobs if job.method.name == "saasbo"} == {100}
    assert {job.budget for job in jobs if job.method.name == "alebo"} == {500}
    assert all(job.time_limit for job in jobs if job.method.name == "rducb")


def test_methods_of_a_repetition_share_the_instance_and_the_first_stream_only():
    made = spec(
        seeds=[4],
        method=[{"name": "random"}, {"name": "random", "label": "other"}],
        problem=[{"name": "ackley", "dim": 5, "options": {"shift": True}}],
    )
    one, other = jobs_of(made)
    assert one.seed % STREAMS == other.seed % STREAMS == 4
    assert one.seed != other.seed
    assert one.seed < 2**53  # exact in every reader of JSON
    assert (one.make_problem().minimisers == other.make_problem().minimisers).all()


def test_a_job_survives_json():
    for job in jobs_of(spec(method=[{"name": "turbo", "options": {"surrogate": {"kernel": "rbf"}}, "seeds": [1, 2]}])):
        assert Job.from_document(json.loads(json.dumps(job.to_document()))) == job


def test_settings_are_set_by_group_or_by_dotted_name():
    by_group, by_name = (
        jobs_of(spec(method=[{"name": "turbo", "options": options}]))[0].make_method()
        for options in ({"surrogate": {"kernel": "rbf"}}, {"surrogate.kernel": "rbf"})
    )
    assert by_group == by_name
    assert by_group.surrogate.kernel == "rbf"


def test_none_is_a_word_in_toml():
    def made(**options):
        return jobs_of(spec(method=[{"name": "boids", "options": options}]))[0].make_method()

    assert made(sweep_from="none").sweep_from is None
    with pytest.raises(BoidsError, match="particles must be a whole number, got 'none'"):
        made(particles="none")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"name": "trubo"}, "did you mean 'turbo'"),
        ({"name": "turbo", "options": {"regoins": 2}}, "did you mean 'regions'"),
        ({"name": "turbo", "options": {"regions": "two"}}, "regions must be a whole number"),
        ({"name": "turbo", "options": {"preset": "paper"}}, "has no preset"),
        ({"name": "no_such_module:Method"}, "There is no module"),
        ({"name": "json:dumps"}, "must be the class of a method"),
    ],
)
def test_methods_that_cannot_be_made(entry, words):
    with pytest.raises(BoidsError, match=words):
        jobs_of(spec(method=[entry]))[0].make_method()


def test_a_problem_of_ones_own_must_be_one():
    with pytest.raises(InputError, match=r"must return a boids\.problems\.Problem"):
        jobs_of(spec(problem=[{"name": "builtins:dict"}]))[0].make_problem()


@pytest.mark.parametrize(("label", "folder"), [("HeSBO (d=10)", "hesbo-d-10"), ("../../etc", "etc"), ("Ä b", "b")])
def test_labels_never_leave_the_folder(label, folder):
    assert slug(label) == folder


def _methods():
    from boids.algorithms import METHODS

    return METHODS
