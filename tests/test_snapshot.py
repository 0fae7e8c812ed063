"""Save and load: *run 2N ≡ run N, save, load, run N* bit for bit, and damage is noticed, never believed."""

from __future__ import annotations

import json
import math
import os
import stat
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Optional

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from numpy.typing import NDArray
from toy_methods import Toy, Wanderer

from boids import FAILED, BudgetExhausted, Float, Optimizer, StoreError, TellError, plain, snapshot
from boids.algorithms import ALGORITHMS, Boids
from boids.blocks.nsga2 import NSGA2
from boids.records import MemoValue, Proposal

BOX = [(-5.0, 10.0), (0.0, 1.0), (-1e308, 1e308)]
SMALL_BOIDS = Boids(n_init=6, particles=4, search=NSGA2(population=20, offspring=20, generations=5))


@pytest.fixture(autouse=True)
def _register(monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "wanderer", Wanderer)


def value_of(trial):
    """An objective that also fails now and then."""
    return FAILED if trial.id % 5 == 3 else float(np.sin(7 * trial.unit).sum())


def record(trial):
    return (trial.id, trial.unit.tobytes(), trial.value, trial.error, trial.state, json.dumps(trial.info))


def trace(optimizer):
    return [record(trial) for trial in optimizer.trials]


def reload(optimizer, path, **options):
    optimizer.save(path)
    return Optimizer.load(path, **options)


class TestResume:
    @pytest.mark.parametrize(
        "method", ["random", "wanderer", Wanderer(step=0.7, modes=("x", "y")), SMALL_BOIDS], ids=str
    )
    @pytest.mark.parametrize("half", [0, 1, 2, 7, 13])
    def test_law_of_resume(self, tmp_path, method, half):
        def finish(optimizer, until):
            while optimizer.n_asked < until:
                trial = optimizer.ask()
                optimizer.tell(trial, value_of(trial))
            return optimizer

        whole = finish(Optimizer(BOX, budget=14, method=method, seed=3), 14)
        broken = finish(Optimizer(BOX, budget=14, method=method, seed=3), half)
        resumed = finish(reload(broken, tmp_path / "run.npz"), 14)
        assert trace(resumed) == trace(whole)
        assert resumed.best.id == whole.best.id
        assert resumed.n_failed == whole.n_failed

    @pytest.mark.parametrize("method", ["random", "wanderer", SMALL_BOIDS], ids=lambda m: getattr(m, "name", m))
    def test_pending_trials_and_out_of_order_tells(self, tmp_path, method):
        def play(interrupt):
            optimizer = Optimizer(BOX, budget=20, method=method, seed=0)
            order = np.random.default_rng(5)
            while optimizer.n_told < 20:
                if optimizer.remaining:
                    optimizer.ask(int(order.integers(1, 5)))
                for trial in order.permutation(np.array(optimizer.pending, dtype=object))[:2]:
                    optimizer.tell(trial, value_of(trial))
                if interrupt:
                    optimizer = reload(optimizer, tmp_path / "run.npz")
            return optimizer

        assert trace(play(interrupt=True)) == trace(play(interrupt=False))

    def test_everything_about_the_run_comes_back(self, tmp_path):
        space = {"rate": Float(0, 1), "w": Float([0, 0], [1, 2])}
        optimizer = Optimizer(space, budget=9, method=Wanderer(step=0.25), seed=2**100)
        for trial in optimizer.ask(5)[1:4]:
            optimizer.tell(trial, value_of(trial))
        optimizer.add_time("evaluate", 1.25)
        again = reload(optimizer, tmp_path / "run.npz")
        assert again.space == optimizer.space
        assert (again.seed, again.budget, again.method) == (2**100, 9, "wanderer")
        assert again.algorithm == Wanderer(step=0.25)
        assert again.times == optimizer.times
        assert again.diagnostics == optimizer.diagnostics
        assert trace(again) == trace(optimizer)
        for old, new in zip(optimizer.trials, again.trials, strict=True):
            assert (new.started, new.ended) == (old.started, old.ended)
            assert new.params["rate"] == old.params["rate"]
            assert new.params["w"].tobytes() == old.params["w"].tobytes()
            assert not new.unit.flags.writeable
        # A trial that someone still holds from before the break is as good as the new one.
        assert again.tell(optimizer.pending[0], 1.0).value == 1.0

    def test_facts_of_the_caller_stay_with_the_run(self, tmp_path):
        path = tmp_path / "run.npz"
        optimizer = Optimizer(BOX, budget=9, method="random", seed=1)
        assert reload(optimizer, path).meta == {}
        optimizer.save(path, meta={"problem": "ackley", "options": {"dim": np.int64(3)}})
        again = reload(Optimizer.load(path), path)  # saved again without naming them
        assert again.meta == {"problem": "ackley", "options": {"dim": 3}}
        with pytest.raises(StoreError, match="meta"):
            optimizer.save(path, meta={"objective": print})

    def test_method_of_ones_own(self, tmp_path, monkeypatch):
        monkeypatch.delitem(ALGORITHMS, "wanderer")
        path = tmp_path / "run.npz"
        optimizer = Optimizer(BOX, budget=9, method=Wanderer(0.4), seed=1)
        optimizer.tell(optimizer.ask(), 1.0)
        optimizer.save(path)
        with pytest.raises(StoreError, match=r"'wanderer' is not one of boids' own; hand it in with method="):
            Optimizer.load(path)
        again = Optimizer.load(path, method=Wanderer(0.4))
        assert [record(t) for t in again.ask(8)] == [record(t) for t in optimizer.ask(8)]

    def test_another_method_than_the_one_that_saved(self, tmp_path):
        path = tmp_path / "run.npz"
        Optimizer(BOX, budget=9, method="random", seed=1).save(path)
        with pytest.raises(StoreError, match="made by the method 'random', not by 'wanderer'"):
            Optimizer.load(path, method=Wanderer())

    def test_equal_runs_give_equal_files(self, tmp_path):
        for name in ("a", "b"):
            optimizer = Optimizer(BOX, budget=9, method="random", seed=1)
            optimizer.run.times = {}
            optimizer.save(tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_plain_numpy_can_read_the_file(self, tmp_path):
        path = tmp_path / "run.npz"
        optimizer = Optimizer(BOX, budget=9, method="wanderer", seed=1)
        optimizer.ask(4)
        optimizer.save(path)
        with np.load(path, allow_pickle=False) as entries:
            manifest = json.loads(entries["manifest"].tobytes().decode())
            assert manifest["format"] == "boids-snapshot"
            assert manifest["version"] == snapshot.VERSION
            assert any(entries[name].shape == (4, 3) for name in entries.files)


class Simulation(RuleBasedStateMachine):
    """Any order of ask, tell, wrong tell and save+load, against an optimizer that is never saved, and a dict."""

    BUDGET = 12
    folder: Any = None

    def __init__(self):
        super().__init__()
        self.optimizer = Optimizer(BOX, budget=self.BUDGET, method="wanderer", seed=0)
        self.twin = Optimizer(BOX, budget=self.BUDGET, method="wanderer", seed=0)
        self.states: dict[int, str] = {}
        self.values: dict[int, float] = {}

    @rule(n=st.none() | st.integers(1, 5))
    def ask(self, n):
        if len(self.states) == self.BUDGET:
            with pytest.raises(BudgetExhausted):
                self.optimizer.ask(n)
            return
        mine, others = self.optimizer.ask(n), self.twin.ask(n)
        mine, others = ([mine], [others]) if n is None else (mine, others)
        assert [record(t) for t in mine] == [record(t) for t in others]
        for trial in mine:
            assert trial.id == len(self.states)
            self.states[trial.id] = "pending"

    @precondition(lambda self: "pending" in self.states.values())
    @rule(data=st.data(), value=st.floats() | st.integers(-3, 3), by_number=st.booleans())
    def tell(self, data, value, by_number):
        number = data.draw(st.sampled_from([k for k, v in self.states.items() if v == "pending"]))
        trial = number if by_number else self.optimizer.trials[number]
        self.optimizer.tell(trial, value)
        self.twin.tell(number, value)
        self.states[number] = "done" if math.isfinite(value) else "failed"
        if math.isfinite(value):
            self.values[number] = value

    @precondition(lambda self: self.states)
    @rule(data=st.data(), value=st.sampled_from([1.0, None, "text"]))
    def tell_wrongly(self, data, value):
        number = data.draw(st.integers(-1, len(self.states)))
        if self.states.get(number) == "pending" and value == 1.0:
            return
        with pytest.raises(TellError):
            self.optimizer.tell(number, value)

    @rule()
    def save_and_load(self):
        self.optimizer = reload(self.optimizer, self.folder / "run.npz")

    @invariant()
    def agrees_with_the_model(self):
        optimizer = self.optimizer
        assert {t.id: t.state for t in optimizer.trials} == self.states
        assert {t.id: t.value for t in optimizer.trials if t.value is not None} == self.values
        assert optimizer.n_asked == len(self.states)
        assert optimizer.remaining == self.BUDGET - len(self.states)
        assert [t.id for t in optimizer.pending] == [k for k, v in self.states.items() if v == "pending"]
        assert optimizer.n_told == optimizer.n_asked - len(optimizer.pending)
        assert optimizer.n_failed == list(self.states.values()).count("failed")
        best = min(self.values, key=lambda k: (self.values[k], k), default=None)
        assert (optimizer.best.id if optimizer.best else None) == best


def test_any_order_of_calls(tmp_path, monkeypatch):
    monkeypatch.setattr(Simulation, "folder", tmp_path)
    run_state_machine_as_test(Simulation, settings=settings(max_examples=15, stateful_step_count=25, deadline=None))


# --- plain data ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaf:
    number: float
    label: str = ""


@dataclass(frozen=True)
class Twig:
    length: int


@dataclass(frozen=True, eq=False)
class Tree:
    flag: bool
    count: int
    size: float
    name: str
    none: None
    maybe: float | None
    old_style: Optional[Leaf]  # noqa: UP045
    leaf: Leaf
    either: Leaf | Twig
    leaves: tuple[Leaf, ...]
    mixed: tuple[int, str, float]
    empty: tuple[()]
    table: dict[str, tuple[int, ...]]
    memo: Mapping[str, MemoValue]
    choice: Literal["a", "b", 3]
    array: NDArray[Any]
    bare: np.ndarray
    anything: Any
    derived: int = field(init=False, default=7)


floats = st.floats()  # nan and inf included
leaves = st.builds(Leaf, floats, st.text(max_size=5))
arrays = npst.arrays(
    st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.bool_, np.uint16, np.complex64, "<U3"]),
    npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
memos = st.dictionaries(
    st.text(max_size=4), st.integers() | floats | st.text(max_size=4) | st.booleans() | arrays | st.none(), max_size=4
)
trees = st.builds(
    Tree,
    flag=st.booleans(),
    count=st.integers(),
    size=floats | st.integers(-5, 5),
    name=st.text(),
    none=st.none(),
    maybe=st.none() | floats,
    old_style=st.none() | leaves,
    leaf=leaves,
    either=leaves | st.builds(Twig, st.integers()),
    leaves=st.lists(leaves, max_size=3).map(tuple),
    mixed=st.tuples(st.integers(), st.text(max_size=3), floats),
    empty=st.just(()),
    table=st.dictionaries(st.text(max_size=3), st.lists(st.integers(), max_size=3).map(tuple), max_size=3),
    memo=memos,
    choice=st.sampled_from(["a", "b", 3]),
    array=arrays,
    bare=arrays,
    anything=jsons,
)


def same(a, b):
    """Equal in type and in every bit, nan included."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    elif isinstance(a, float):
        assert a == b or (math.isnan(a) and math.isnan(b))
        assert math.copysign(1, a) == math.copysign(1, b) or math.isnan(a)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif hasattr(a, "__dataclass_fields__"):
        for name in a.__dataclass_fields__:
            same(getattr(a, name), getattr(b, name))
    else:
        assert a == b


class TestPlainData:
    @given(trees)
    @settings(deadline=None)
    def test_round_trip_through_json(self, tree):
        found: list[Any] = []
        document = json.loads(json.dumps(plain.encode(tree, Tree, found)))
        same(plain.decode(document, Tree, found), tree)

    @given(st.lists(arrays, max_size=4), jsons)
    @settings(deadline=None, max_examples=30)
    def test_round_trip_through_a_file(self, tmp_path_factory, many, content):
        path = tmp_path_factory.mktemp("file") / "some.npz"
        snapshot.write(path, content, many)
        again, loaded = snapshot.read(path)
        same(again, content)
        same(loaded, many)

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_order_in_memory_is_kept(self, tmp_path, order):
        array = np.asarray(np.arange(12.0).reshape(3, 4), order=order)
        snapshot.write(tmp_path / "a.npz", None, [array])
        (loaded,) = snapshot.read(tmp_path / "a.npz")[1]
        assert loaded.flags[f"{order}_CONTIGUOUS"]
        np.testing.assert_array_equal(loaded, array)

    def test_numpy_scalars_become_plain(self):
        same(plain.encode((np.int64(3), np.bool_(True), np.float64(0.5)), tuple[int, bool, float], []), [3, True, 0.5])
        same(plain.jsonable({"a": (np.float32(0.5), np.arange(2))}), {"a": [0.5, [0, 1]]})

    def test_a_union_leaves_no_stray_arrays(self):
        found: list[Any] = []
        array = np.zeros(2)
        document = plain.encode((array, "x"), tuple[np.ndarray, int] | tuple[np.ndarray, str], found)
        assert document == [{"array": 0}, "x"]
        assert len(found) == 1

    @pytest.mark.parametrize(
        ("value", "kind"),
        [
            (1.5, int),
            (True, int),
            (True, float),
            (1, bool),
            (1, str),
            (np.float32(1), float),
            (0, None),
            ([1], tuple[int, ...]),
            ((1, 2), tuple[int]),
            ({1: 2}, dict[str, int]),
            ({1: 2}, Any),
            (object(), Any),
            ({"a": {1, 2}}, Any),
            ("c", Literal["a", "b"]),
            (True, Literal[1]),
            (np.array([None]), np.ndarray),
            ([1.0], np.ndarray),
            (Leaf(1.0), Twig),
            (Leaf("x"), Leaf),
            (Leaf(1.0), Twig | None),
            (b"x", bytes),
            ({1}, set[int]),
            ([1], list[int]),
            (1, "unresolved"),
        ],
    )
    def test_what_does_not_fit_its_type_is_not_saved(self, value, kind):
        with pytest.raises(StoreError):
            plain.encode(value, kind, [])

    @pytest.mark.parametrize(
        ("document", "kind"),
        [
            ({"class": "Leaf", "fields": {"number": 1.0}}, Leaf),
            ({"class": "Leaf", "fields": {"number": 1.0, "label": "", "more": 1}}, Leaf),
            ({"class": "Twig", "fields": {"length": 1}}, Leaf),
            ({"class": "os.system", "fields": {"command": "true"}}, Leaf),
            ({"class": "Leaf", "fields": None}, Leaf),
            ({"class": "Leaf", "fields": {"number": "x", "label": ""}}, Leaf),
            (None, Leaf),
            ({"array": 1}, np.ndarray),
            ({"array": -1}, np.ndarray),
            ({"array": "0"}, np.ndarray),
            ({"array": True}, np.ndarray),
            ([], np.ndarray),
            ({}, tuple[int, ...]),
            ([1, 2], tuple[int]),
            ([], dict[str, int]),
            (1.5, int),
            ("nan", float),
        ],
    )
    def test_what_does_not_fit_its_type_is_not_loaded(self, document, kind):
        with pytest.raises(StoreError):
            plain.decode(document, kind, [np.zeros(1)])

    def test_errors_say_where(self):
        with pytest.raises(StoreError, match=r"state\[1\]\.number: expected float, got 'x'"):
            plain.encode((Leaf(1.0), Leaf("x")), tuple[Leaf, ...], [], "state")

    def test_a_class_that_refuses_its_fields(self):
        with pytest.raises(StoreError, match="refuses its saved fields"):
            plain.decode({"class": "Picky", "fields": {"number": -1}}, Picky, [])


@dataclass(frozen=True)
class Picky:
    number: int

    def __post_init__(self):
        if self.number < 0:
            raise ValueError("negative")


# --- files that are wrong --------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    """Return the path of a snapshot with pending trials, and its trace."""
    optimizer = Optimizer(BOX, budget=9, method="wanderer", seed=1)
    for trial in optimizer.ask(5)[:3]:
        optimizer.tell(trial, value_of(trial))
    path = tmp_path / "run.npz"
    optimizer.save(path)
    return path, trace(optimizer)


def rewritten(path, change):
    """Rewrite a snapshot with a changed manifest and a checksum that fits."""
    with np.load(path) as entries:
        manifest = json.loads(entries["manifest"].tobytes())
        arrays = [entries[f"array{i}"] for i in range(len(entries.files) - 2)]
    change(manifest, arrays)
    version, snapshot.VERSION = snapshot.VERSION, manifest["version"]
    try:
        snapshot.write(path, manifest["content"], arrays)
    finally:
        snapshot.VERSION = version


class TestWrongFiles:
    def test_missing(self, tmp_path):
        with pytest.raises(StoreError, match="There is no snapshot"):
            Optimizer.load(tmp_path / "no.npz")

    def test_folder(self, tmp_path):
        with pytest.raises(StoreError, match="cannot be read"):
            Optimizer.load(tmp_path)

    @pytest.mark.parametrize("data", [b"", b"hello", b"\x93NUMPY", b"{}"])
    def test_something_else(self, tmp_path, data):
        path = tmp_path / "file"
        path.write_bytes(data)
        with pytest.raises(StoreError, match="is not a boids snapshot"):
            Optimizer.load(path)

    def test_an_npz_of_someone_else(self, tmp_path):
        path = tmp_path / "other.npz"
        np.savez(path, manifest=np.frombuffer(b'{"format": "other"}', dtype=np.uint8))
        with pytest.raises(StoreError, match="is not a boids snapshot"):
            Optimizer.load(path)
        np.savez(path, a=np.zeros(3))
        with pytest.raises(StoreError):
            Optimizer.load(path)

    def test_pickles_are_not_loaded(self, tmp_path):
        path = tmp_path / "pickle.npz"
        np.savez(path, manifest=np.array([{"format": "boids-snapshot"}], dtype=object))
        with pytest.raises(StoreError):
            Optimizer.load(path)

    def test_a_bomb_is_not_unpacked(self, tmp_path):
        path = tmp_path / "bomb.npz"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("manifest.npy", b"\0" * 10**7)
        with pytest.raises(StoreError, match="damaged"):
            Optimizer.load(path)

    def test_newer_version(self, saved):
        path, _ = saved
        rewritten(path, lambda manifest, arrays: manifest.update(version=snapshot.VERSION + 1))
        with pytest.raises(StoreError, match=r"was written by boids .*; this is .*; upgrade boids"):
            Optimizer.load(path)

    @pytest.mark.parametrize("version", [0, -1, "1", None])
    def test_impossible_version(self, saved, version):
        path, _ = saved
        rewritten(path, lambda manifest, arrays: manifest.update(version=version))
        with pytest.raises(StoreError):
            Optimizer.load(path)

    def test_unknown_method(self, saved, monkeypatch):
        monkeypatch.delitem(ALGORITHMS, "wanderer")
        with pytest.raises(StoreError, match=r"this boids has no method 'wanderer'; it has .*random"):
            Optimizer.load(saved[0])

    @pytest.mark.parametrize(
        "change",
        [
            lambda content, arrays: content.clear(),
            lambda content, arrays: content["state"]["fields"].pop("mood"),
            lambda content, arrays: content["state"]["fields"].update(mood="angry"),
            lambda content, arrays: content["state"].update({"class": "Other"}),
            lambda content, arrays: content["settings"]["fields"].update(step="far"),
            lambda content, arrays: content["setup"]["fields"].update(budget=3),
            lambda content, arrays: content["setup"]["fields"].update(budget=-3),
            lambda content, arrays: content["setup"]["fields"].update(seed=-3),
            lambda content, arrays: content["setup"]["fields"].update(space={}),
            lambda content, arrays: content["setup"]["fields"]["space"]["parameters"][0].update(low=[0], high=[1]),
            lambda content, arrays: content["progress"]["fields"]["trials"]["fields"].update(errors=[]),
            lambda content, arrays: content["progress"]["fields"]["trials"]["fields"].update(memos=[]),
            lambda content, arrays: content["progress"]["fields"]["trials"]["fields"]["told"].update(array=0),
            lambda content, arrays: content["progress"]["fields"]["trials"]["fields"].update(
                units=content["progress"]["fields"]["trials"]["fields"]["values"]
            ),
            lambda content, arrays: arrays.clear(),
        ],
    )
    def test_parts_that_do_not_fit_together(self, saved, change):
        path, _ = saved
        rewritten(path, lambda manifest, arrays: change(manifest["content"], arrays))
        with pytest.raises(StoreError, match="cannot be used"):
            Optimizer.load(path)

    def test_any_truncation_is_noticed(self, saved):
        path, _ = saved
        whole = path.read_bytes()
        for length in np.unique(np.linspace(0, len(whole) - 1, 60, dtype=int)):
            path.write_bytes(whole[:length])
            with pytest.raises(StoreError):
                Optimizer.load(path)

    def test_any_damage_is_noticed_or_harmless(self, saved):
        path, expected = saved
        whole, rng = path.read_bytes(), np.random.default_rng(0)
        noticed = 0
        for _ in range(400):
            damaged = bytearray(whole)
            kind = rng.integers(3)
            start = int(rng.integers(len(whole)))
            if kind == 0:  # flipped bits
                damaged[start] ^= 1 << int(rng.integers(8))
            elif kind == 1:  # a block of noise
                damaged[start : start + 64] = rng.bytes(64)
            else:  # a missing block
                del damaged[start : start + int(rng.integers(1, 100))]
            path.write_bytes(damaged)
            try:
                optimizer = Optimizer.load(path)
            except StoreError:
                noticed += 1
            else:
                assert trace(optimizer) == expected
        assert noticed > 200

    def test_swapped_arrays_are_noticed(self, saved):
        path, _ = saved
        with zipfile.ZipFile(path) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        entries["array0.npy"], entries["array1.npy"] = entries["array1.npy"], entries["array0.npy"]
        with zipfile.ZipFile(path, "w") as archive:  # with CRCs that fit
            for name, data in entries.items():
                archive.writestr(name, data)
        with pytest.raises(StoreError, match="damaged"):
            Optimizer.load(path)


class TestWriting:
    def test_a_failed_write_keeps_the_old_file_and_no_draft(self, saved, monkeypatch):
        path, expected = saved
        optimizer = Optimizer.load(path)
        optimizer.ask()

        def broken(*_):
            raise OSError(28, "No space left on device")

        for step in ("replace", "fsync"):
            with monkeypatch.context() as patch:
                patch.setattr(os, step, broken)
                with pytest.raises(StoreError, match="cannot be written: No space left on device"):
                    optimizer.save(path)
            assert [p.name for p in path.parent.iterdir()] == ["run.npz"]
            assert trace(Optimizer.load(path)) == expected

    def test_missing_folder(self, tmp_path):
        with pytest.raises(StoreError, match="cannot be written"):
            Optimizer(BOX, budget=1, method="random").save(tmp_path / "no" / "run.npz")

    @pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
    def test_permissions_and_links_are_those_of_a_usual_file(self, tmp_path):
        optimizer = Optimizer(BOX, budget=1, method="random", seed=1)
        (tmp_path / "usual").touch()
        (tmp_path / "link.npz").symlink_to(tmp_path / "real.npz")
        optimizer.save(tmp_path / "link.npz")
        assert (tmp_path / "link.npz").is_symlink()
        mode = stat.S_IMODE((tmp_path / "real.npz").stat().st_mode)
        assert mode == stat.S_IMODE((tmp_path / "usual").stat().st_mode)

    def test_a_state_that_is_not_plain_is_refused(self, tmp_path):
        def on_ask(state, history, pending, rng):
            return np.zeros(3)

        optimizer = Optimizer(BOX, budget=3, method=Toy(on_ask), seed=1)
        optimizer.run.state = {"not": "the declared state"}
        with pytest.raises(StoreError, match="state: expected ToyState"):
            optimizer.save(tmp_path / "run.npz")
        assert not list(tmp_path.iterdir())

    def test_a_proposal_is_saved_by_its_annotations(self):
        found: list[Any] = []
        memo = {"z": np.arange(3.0), "i": 3, "w": 0.5, "s": "x", "b": True, "n": None, "k": np.arange(2)}
        proposal = Proposal(np.zeros(2), memo, {"a": [1]}, {"fit": 0.25})
        same(plain.decode(plain.encode(proposal, Proposal, found), Proposal, found), proposal)
