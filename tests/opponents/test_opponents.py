"""Methods of other packages: the laws that every method keeps, and what is particular to them.

They need the extra `bench`; without it only what boids says of them is tested here, and the machinery around them in
test_transcript.py.
"""

import re
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

import boids
from boids import MethodError, MissingExtra, Optimizer, cite
from boids.algorithms import ALGORITHMS, METHODS, find
from boids.algorithms.protocol import CONSIDERED
from boids.bench.plan import Plan
from boids.bench.spec import Spec
from boids.opponents import OPPONENTS, installed, library, transcript
from boids.testing import LAWS, beats_random, sphere

#: Smaller searches, wherever a method has a setting of that name.
SMALLER = {
    "n_init": 5,
    "num_restarts": 1,
    "raw_samples": 16,
    "maxiter": 10,
    "n_startup_trials": 4,
    "n_trees": 2,
    "challengers": 10,
}
BUDGET = 8
#: Methods that are not significantly better than random search after a few evaluations in 10 dimensions: a quarter of
#: SMAC3's budget is its design, a fifth of the rest is random, and its forest learns slowly.
NEED_MANY = ("smac",)
REPLAYED = [name for name, cls in OPPONENTS.items() if issubclass(cls, transcript.LibraryMethod)]


def quick(name, **more):
    """The method with a quick search; skips if its packages are not here."""
    cls = OPPONENTS[name]
    if not installed(cls.modules):
        pytest.skip(f"{name} needs {', '.join(cls.modules)}: extra bench")
    known = {field.name for field in fields(cls)}
    return replace(cls(), **{key: value for key, value in {**SMALLER, **more}.items() if key in known})


@pytest.fixture
def nothing_installed(monkeypatch):
    """As if no library of others could be found."""
    monkeypatch.setattr(library, "find_spec", lambda module: None)


# ------------------------------------------------------------------------------------- with the packages


@pytest.mark.parametrize("law", [law for law in LAWS if law != "beats_random"])
@pytest.mark.parametrize("name", OPPONENTS)
def test_law_of_opponents(name, law):
    # With few evaluations per dimension NGOpt is COBYLA from the centre, which draws nothing at random.
    more = {"optimizer": "CMA"} if law == "same_seed_same_trace" else {}
    LAWS[law](quick(name, **more), BUDGET)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OPPONENTS if name not in NEED_MANY])
def test_opponents_are_better_than_random_search(name):
    if not installed(OPPONENTS[name].modules):
        pytest.skip(f"{name} needs the extra bench")
    beats_random(OPPONENTS[name](), evaluations=60)


@pytest.mark.parametrize("name", REPLAYED)
def test_a_run_goes_on_the_same_when_the_library_has_lost_its_object(name):
    runs = [Optimizer([(-1, 1)] * 3, budget=BUDGET, method=quick(name), seed=3) for _ in range(2)]
    for step in range(BUDGET):
        for optimizer in runs:
            trial = optimizer.ask()
            optimizer.tell(trial, float("nan") if step == 2 else sphere(trial.x))
        if step in (3, 6):
            transcript.forget()  # both replay
    whole = Optimizer([(-1, 1)] * 3, budget=BUDGET, method=quick(name), seed=3)
    while whole.remaining:
        trial = whole.ask()
        whole.tell(trial, float("nan") if trial.id == 2 else sphere(trial.x))
    points = [np.array([trial.unit for trial in optimizer.trials]) for optimizer in (*runs, whole)]
    np.testing.assert_array_equal(points[0], points[1])
    np.testing.assert_array_equal(points[0], points[2])


@pytest.mark.parametrize("name", ["optuna-tpe", "optuna-gp", "botorch"])
def test_points_under_way_keep_these_away(name):
    """Four proposals of one moment are apart."""
    optimizer = Optimizer([(-1, 1)] * 4, budget=40, method=quick(name), seed=1)
    for _ in range(BUDGET):
        trial = optimizer.ask()
        optimizer.tell(trial, sphere(trial.x))
    points = np.array([trial.x for trial in optimizer.ask(4)])
    apart = np.abs(points[:, None] - points[None]).max(axis=2)[np.triu_indices(4, 1)]
    assert apart.min() > 1e-3


def test_nevergrad_says_what_it_does_not_have():
    quick("nevergrad")
    optimizer = Optimizer([(-1, 1)] * 2, budget=2, method=OPPONENTS["nevergrad"](optimizer="NGOptt"), seed=0)
    with pytest.raises(MethodError, match="Nevergrad has no optimizer 'NGOptt'; did you mean 'NGOpt"):
        optimizer.ask()


def test_a_program_ends_while_an_optimiser_of_nevergrad_waits_for_a_value():
    """COBYLA runs in a thread of its own, which must not keep the program from ending."""
    quick("nevergrad")
    code = "import boids; boids.Optimizer([(0, 1)] * 3, budget=9, method='nevergrad', seed=0).ask()"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_the_first_proposals_of_botorch_are_those_of_vanilla_bo():
    """In a comparison both have the same initial design."""
    quick("botorch")
    runs = [Optimizer([(-1, 1)] * 4, budget=6, method=name, seed=5) for name in ("botorch", "vanilla-bo")]
    np.testing.assert_array_equal(*([trial.unit for trial in run.ask(6)] for run in runs))


# ---------------------------------------------------------------------------------- without the packages


@pytest.mark.parametrize("name", OPPONENTS)
def test_every_opponent_says_what_it_is_and_can_be_cited(name):
    cls = OPPONENTS[name]
    assert cls.name == name
    assert name not in ALGORITHMS
    assert METHODS[name] is cls
    assert cls.summary
    assert cls.reference
    assert is_dataclass(cls)
    assert is_dataclass(cls.State)
    assert set(cls.considers) <= set(CONSIDERED)
    text = cite(name)
    entries = text.count("@")
    assert text.count("{") == text.count("}")
    assert all(len(re.findall(rf"^  {word} +=", text, re.M)) == entries for word in ("title", "author", "year"))


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize("name", OPPONENTS)
def test_a_missing_package_is_named_with_the_remedy(name):
    with pytest.raises(
        MissingExtra, match=rf'{name}.* needs the package.*{OPPONENTS[name].modules[0]}.*boids-opt\[bench\]"'
    ):
        boids.minimize(sphere, [(-1, 1)] * 2, budget=2, method=name, seed=0)


def test_a_package_that_is_broken_is_named_with_the_remedy(monkeypatch):
    def broken(module):
        raise ImportError("half of it is missing")

    monkeypatch.setattr(library, "import_module", broken)
    with pytest.raises(MissingExtra, match=r"Importing torch failed \(half of it is missing\); run `pip install"):
        library.loaded("torch")


def test_a_name_with_a_slip_is_understood():
    with pytest.raises(MethodError, match="did you mean 'optuna-tpe'"):
        find("optuna-tep")


@pytest.mark.usefixtures("nothing_installed")
def test_the_command_line_lists_them_apart(cli):
    out = cli("methods").out
    own, others = out.split("in other packages", 1)
    assert max(map(len, out.splitlines())) <= 80
    for name in OPPONENTS:
        assert not re.search(rf"^{name} ", own, re.MULTILINE)
        assert re.search(rf"^{name} .* no *$", others, re.MULTILINE)
    assert 'pip install "boids-opt[bench]"' in others
    listed = {each["name"]: each for each in cli("methods", "--json").json}
    assert (listed["smac"]["package"], listed["smac"]["installed"]) == ("smac", False)
    assert (listed["turbo"]["package"], listed["turbo"]["installed"]) == ("boids-opt", True)
    assert "not installed" in cli("methods", "smac").out


@pytest.mark.usefixtures("nothing_installed")
def test_the_command_line_names_what_is_missing(cli):
    answer = cli("run", "sphere", "--dim", "3", "--budget", "2", "--method", "optuna-tpe", "--no-store")
    assert answer.code == 2
    assert "boids-opt[bench]" in " ".join(answer.err.split())


@pytest.mark.usefixtures("nothing_installed")
def test_an_experiment_says_which_methods_cannot_be_had(tmp_path):
    spec = Spec.of(
        {
            "budget": 3,
            "seeds": 1,
            "method": [{"name": "random"}, {"name": "botorch", "options": {"num_restarts": 2}}],
            "problem": [{"name": "sphere", "dim": 3}],
        }
    )
    plan = Plan.of(spec, tmp_path)
    assert list(plan.obstacles) == ["method 'botorch'"]
    assert [job.method.name for job in plan.left()] == ["random"]
