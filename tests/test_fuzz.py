"""Whatever is handed in, in whatever order: a result, or one clear error of boids, never anything else."""

from __future__ import annotations

import io
import itertools
import json
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import fields
from unittest import mock

import fuzz_commands as commands
import fuzz_documents as documents
import fuzz_odd as odd
import numpy as np
import pytest
from fuzz_machine import METHODS, SMALL, Calls, any_space
from fuzz_odd import examples
from hypothesis import given
from hypothesis import strategies as st
from space import strategies

import boids
from boids import BoidsError, Bool, Categorical, Float, Int, Optimizer, Result, Space, SpaceError
from boids.algorithms import Boids
from boids.cli import main
from boids.space import read_space
from boids.space.linear import LinearConstraints

TestCalls = Calls.TestCase
TestCalls.settings = examples(150, stateful_step_count=40)


def attempt(call, *given, **named):
    """Return what a call returns, or None if it is refused with a clear error of boids."""
    try:
        return call(*given, **named)
    except (BoidsError, ValueError) as error:
        odd.check_error(error)
        return None


# --- objectives -----------------------------------------------------------------------------------------------

methods = st.sampled_from(list(METHODS)).map(METHODS.get)
happenings = st.one_of(
    odd.anything,
    odd.exceptions,
    st.floats(-1, 1).map(odd.Thing),
    st.tuples(odd.anything, odd.anything).map(odd.opened).map(odd.Thing),
)


def happen(what):
    """Return or raise it."""
    if isinstance(what, odd.Thing):
        return what.value
    raise what


def spoil(params):
    """Change a point in place, as careless objectives do."""
    for value in list(params.values()) if isinstance(params, dict) else [params]:
        if isinstance(value, np.ndarray):
            value[...] = 0
    if isinstance(params, dict):
        params.clear()


class TestMinimize:
    @examples(150)
    @given(
        space=any_space,
        happening=st.lists(happenings, min_size=1, max_size=6),
        arguments=st.fixed_dictionaries(
            {
                "budget": st.integers(1, 12),
                "method": methods,
                "noisy": st.booleans(),
                "vectorized": st.booleans(),
                "n_constraints": st.integers(0, 2),
                "seed": st.integers(0, 99),
            }
        ),
    )
    def test_whatever_the_objective_does(self, space, happening, arguments):
        turns = itertools.cycle(happening)

        def objective(params):
            what = next(turns)
            spoil(params)
            return happen(what)

        result = boids.minimize(objective, space, **arguments)
        assert isinstance(result, Result)
        assert result.nfev == len(result.trials) == len(result.history)
        assert result.nfev == arguments["budget"] or result.status == "space"
        assert all(trial.state in ("done", "failed") for trial in result.trials)
        assert all(isinstance(trial.error, str) and trial.error for trial in result.trials if trial.failed)
        assert all(strategies.same(trial.params, space.decode(trial.unit)) for trial in result.trials)
        assert (result.x is None) == all(trial.failed for trial in result.trials)
        assert len(repr(result)) < 3000

    @examples(20)
    @given(
        before=st.integers(0, 5), signal=st.sampled_from([KeyboardInterrupt(), KeyboardInterrupt("x")]), method=methods
    )
    def test_ctrl_c_keeps_what_was_found(self, before, signal, method):
        calls = itertools.count()

        def objective(x):
            if next(calls) == before:
                raise signal
            return float(x @ x)

        result = boids.minimize(objective, [(-1, 1)] * 3, 8, method=method, seed=0)
        assert (result.status, result.nfev) == ("interrupted", before)
        assert [trial.state for trial in result.trials] == ["done"] * before + ["pending"]

    @examples(40)
    @given(answers=st.lists(odd.anything, min_size=1, max_size=4))
    def test_whatever_the_callback_returns(self, answers):
        turns = itertools.cycle(answers)
        result = boids.minimize(
            lambda x: 1.0, [(0, 1)], 4, method="random", seed=0, callback=lambda *_: next(turns).value
        )
        stops = [each.value is True or (isinstance(each.value, np.bool_) and bool(each.value)) for each in answers]
        expected = next((i + 1 for i in range(4) if stops[i % len(stops)]), 4)
        assert result.nfev == expected

    @examples(150)
    @given(
        name=st.sampled_from(["timeout", "target", "patience", "callback", "n_workers", "vectorized", "fun"]),
        thing=odd.anything,
    )
    def test_whatever_the_arguments_are(self, name, thing):
        good = {"fun": lambda x: [1.0] * len(x) if x.ndim == 2 else 1.0, "space": [(0, 1)], "budget": 3}
        if name != "callback" or not callable(thing.value):  # what a callback raises is passed on
            attempt(boids.minimize, **{**good, "method": "random", name: thing.value})


# --- arguments of an optimizer --------------------------------------------------------------------------------


class TestArguments:
    @examples(400)
    @given(
        name=st.sampled_from(
            ["space", "budget", "method", "seed", "noisy", "n_constraints", "linear_constraints", "penalty"]
        ),
        thing=odd.anything,
    )
    def test_whatever_one_of_them_is(self, name, thing):
        good = {"space": [(0, 1), (2, 3)], "budget": 5, "method": Boids(**SMALL), "seed": 1, "n_constraints": 1}
        optimizer = attempt(Optimizer, **{**good, name: thing.value})
        if optimizer is not None:
            trial = optimizer.ask()
            optimizer.tell(trial, 1.0, constraints=[0.0] * optimizer.n_constraints or None)
            json.dumps(optimizer.diagnostics)

    @examples(300)
    @given(setting=st.sampled_from([field.name for field in fields(Boids)]), thing=odd.anything)
    def test_whatever_a_setting_is(self, setting, thing):
        attempt(Boids, **{setting: thing.value})

    @examples(100)
    @given(path=odd.texts | odd.anything)
    def test_whatever_a_path_is(self, path, tmp_path_factory):
        given_path = path.value if isinstance(path, odd.Thing) else path
        folder = tmp_path_factory.getbasetemp() / "fuzz"
        folder.mkdir(exist_ok=True)
        optimizer = Optimizer([(0, 1)], budget=1, method="random")
        if isinstance(given_path, str) and len(given_path) < 400:
            target = f"{folder}/{given_path.strip('./')}.npz"
            attempt(optimizer.save, target)
            attempt(Optimizer.load, target)


# --- spaces ---------------------------------------------------------------------------------------------------


def use(space):
    """Whatever was accepted must work."""
    assert space.dim >= 1
    rng = np.random.default_rng(0)
    for unit in rng.uniform(-1, 1, (3, min(space.dim, 1000))):
        unit = np.resize(unit, space.dim)
        again = space.encode(space.decode(unit))
        assert np.array_equal(again[space.discrete], space.snap(unit)[space.discrete])
    assert Space.from_manifest(json.loads(json.dumps(space.to_manifest()))) == space
    assert len(repr(space)) < 5000


numbers = odd.scalars | st.integers(-5, 5) | st.floats(-5, 5)
pairs = st.tuples(numbers, numbers) | st.lists(numbers, max_size=3) | odd.anything
options = st.fixed_dictionaries(
    {},
    optional={
        "log": st.booleans() | odd.anything,
        "shape": st.integers(-1, 3) | st.tuples(st.integers(-1, 3)) | odd.anything,
        "choices": odd.anything,
    },
)
bounds = numbers | st.lists(numbers, max_size=3) | odd.anything


class TestSpaces:
    @examples(400)
    @given(
        kind=st.sampled_from([Float, Int]),
        low=bounds,
        high=bounds,
        given_options=options.map(lambda each: {key: value for key, value in each.items() if key != "choices"}),
    )
    def test_whatever_the_bounds_are(self, kind, low, high, given_options):
        arguments = odd.opened((low, high))
        parameter = attempt(kind, *arguments, **odd.opened(given_options))
        if parameter is not None:
            use(Space({"a": parameter}))

    @examples(300)
    @given(choices=odd.anything | st.lists(odd.anything, max_size=4), shape=st.integers(-1, 3) | odd.anything)
    def test_whatever_the_choices_are(self, choices, shape):
        parameter = attempt(Categorical, odd.opened(choices), shape=odd.opened(shape))
        if parameter is not None:
            use(Space({"a": parameter}))
        flag = attempt(Bool, shape=odd.opened(shape))
        if flag is not None:
            use(Space({"a": flag}))

    @examples(400)
    @given(
        definition=st.one_of(
            odd.anything,
            st.lists(pairs, max_size=4),
            st.dictionaries(odd.texts | st.integers(), pairs | strategies.parameters(extreme=True), max_size=4),
        )
    )
    def test_whatever_defines_them(self, definition):
        space = attempt(Space, odd.opened(definition))
        if space is not None:
            use(space)

    @examples(300)
    @given(data=st.data(), space=any_space)
    def test_whatever_point_is_encoded(self, data, space):
        point = data.draw(strategies.values_of(space))
        if space.is_named:
            changes = data.draw(st.dictionaries(st.sampled_from([*space.names, "other"]), odd.anything, max_size=2))
            point = odd.opened({**point, **changes})
        unit = attempt(space.encode, data.draw(st.just(odd.Thing(point)) | odd.anything).value)
        assert unit is None or (np.abs(unit) <= 1.0).all()

    @examples(200)
    @given(thing=odd.anything, space=any_space, call=st.sampled_from(["decode", "decode_many"]))
    def test_whatever_unit_is_decoded(self, thing, space, call):
        attempt(getattr(space, call), thing.value)

    @examples(200)
    @given(file=documents.space_files)
    def test_whatever_a_file_says(self, file, tmp_path_factory):
        suffix, content = file
        path = tmp_path_factory.getbasetemp() / f"space{suffix}"
        path.write_bytes(content)
        described = attempt(read_space, path)
        if described is not None:
            use(described.space)
            attempt(LinearConstraints.of, described.space, list(described.linear))


# --- linear constraints ---------------------------------------------------------------------------------------

MIXED = Space(
    {
        "x1": Float(0, 1),
        "x2": Float(-2, 2),
        "lr": Float(1e-5, 1, log=True),
        "n": Int(1, 9),
        "act": Categorical(["a", "b", "c"]),
        "on": Bool(),
        "w": Float(-1, 1, shape=3),
        "µ": Float(0, 1),
    }
)


class TestLinearConstraints:
    @examples(400)
    @given(
        definition=st.one_of(
            documents.constraint_texts,
            st.lists(documents.constraint_texts, max_size=3),
            documents.constraint_tables,
            odd.anything,
            st.lists(documents.constraint_texts | documents.constraint_tables | odd.anything, max_size=3),
        )
    )
    def test_whatever_they_are(self, definition):
        try:
            constraints = LinearConstraints.of(MIXED, odd.opened(definition))
        except SpaceError as error:
            odd.check_error(error)
            return
        if constraints is None:
            return
        units = constraints.sample(3, np.random.default_rng(0))
        assert constraints.satisfied(units).all()
        assert constraints.satisfied(constraints.repair(np.zeros(MIXED.dim)))
        assert LinearConstraints.from_manifest(MIXED, json.loads(json.dumps(constraints.to_manifest()))) == constraints


# --- the command line -----------------------------------------------------------------------------------------


@pytest.fixture(scope="class")
def workshop(tmp_path_factory):
    """A folder with a module of objectives, spaces, and a run that can be resumed."""
    folder = tmp_path_factory.mktemp("workshop")
    (folder / "fuzzed.py").write_text(commands.MODULE)
    for name, content in commands.SPACES.items():
        (folder / name).write_text(content)
    with chdir(folder), mock.patch.object(sys, "path", [str(folder), *sys.path]):
        assert main(["run", "ackley", "--dim=2", "--budget=2", "--method=random", "--quiet"]) == 0
        yield folder


class TestCommandLine:
    @staticmethod
    def check(arguments):
        """Whatever is asked for, there is an exit code; for wrong input one line says what is wrong."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(arguments)
        assert code in (0, 1, 2, 130), (arguments, code)
        if code == 2:
            *_, last = err.getvalue().strip().splitlines()
            assert last.startswith("boids: "), err.getvalue()
            odd.check_message(last)
        assert code != 2 or not out.getvalue() or "--plot" in arguments, out.getvalue()
        is_json = {"--json", "--json-lines"} & set(arguments)
        if code != 2 and arguments[:1] == ["run"] and is_json and "-h" not in arguments:
            lines = [json.loads(line) for line in out.getvalue().splitlines()]
            assert lines[-1]["nfev"] <= 3
            assert "--json-lines" in arguments or len(lines) == 1

    @examples(200)
    @given(arguments=commands.runs)
    def test_run_with_whatever_options(self, arguments, workshop):
        self.check(arguments)

    @examples(200)
    @given(arguments=commands.others)
    def test_whatever_is_typed(self, arguments, workshop):
        self.check(arguments)
