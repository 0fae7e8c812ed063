"""Damage a store in every way, and see that it is refused, or read rightly, and never changed.

python tests/store/fuzz_store.py --rounds 10000 --seed 0
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from stored_runs import empty, head, read_key, run_key, step_key, steps

from boids.errors import StoreError
from boids.store import Store

PAGE = 4096
_REFUSED = object()


@dataclass(frozen=True)
class Sound:
    """A store in order: its files, and what they must be read as."""

    data: bytes
    wal: bytes
    summaries: list[Any]
    runs: dict[str, Any]


def sound_store(folder: Path) -> Sound:
    """Three runs, one with a state of many pages, and the free pages that a fourth left behind."""
    path = folder / "sound.db"
    with Store(path) as store:
        for seed, (name, size, count) in enumerate(
            [("gone", 9000, 8), ("a", 80, 30), ("bb", 30_000, 9), ("c", 800, 40)]
        ):
            dim = 3 + 40 * seed
            writer = store.create(head(name, dim=dim, seed=seed), empty(), meta={"note": [name, 0.5, None]})
            for step in itertools.islice(steps(seed, dim=dim, state_size=size), count):
                writer.memory = lambda step=step: step.memory
                writer.write(step.rows, step.snapshot)
            if name == "bb":
                writer.set_status("budget")
            writer.close()
            if name == "bb":
                store.delete("gone")
        runs = {name: run_key(store.read(name)) for name in ("a", "bb", "c")}
        return Sound(path.read_bytes(), b"", store.runs(), runs)


def _span(rng: np.random.Generator, size: int) -> slice:
    begin = int(rng.integers(size))
    return slice(begin, min(size, begin + int(2 ** rng.uniform(0, 13))))


def _place(rng: np.random.Generator, size: int) -> int:
    """Any byte, or one of those on which much depends: in the file's header, or at the beginning of a page."""
    kind = rng.random()
    if kind < 0.15:
        return int(rng.integers(min(size, 100)))
    if kind < 0.4:
        return min(size - 1, int(rng.integers(size // PAGE + 1)) * PAGE + int(rng.integers(40)))
    return int(rng.integers(size))


def _flip(data: bytearray, rng: np.random.Generator) -> None:
    for _ in range(int(rng.choice([1, 1, 1, 2, 10]))):
        data[_place(rng, len(data))] ^= 1 << int(rng.integers(8))


def _overwrite(data: bytearray, rng: np.random.Generator) -> None:
    span = _span(rng, len(data))
    data[span] = rng.bytes(span.stop - span.start)


def _set(data: bytearray, rng: np.random.Generator) -> None:
    data[_place(rng, len(data))] = int(rng.choice([0, 1, 2, 127, 128, 255]))


def _zero(data: bytearray, rng: np.random.Generator) -> None:
    span = _span(rng, len(data))
    data[span] = bytes(span.stop - span.start)


def _truncate(data: bytearray, rng: np.random.Generator) -> None:
    size = int(rng.integers(len(data)))
    del data[size - size % PAGE if rng.random() < 0.5 else size :]


def _swap(data: bytearray, rng: np.random.Generator) -> None:
    size = PAGE if rng.random() < 0.7 else int(2 ** rng.uniform(0, 13))
    one, two = sorted(int(rng.integers(max(1, len(data) // size))) * size for _ in range(2))
    data[one : one + size], data[two : two + size] = data[two : two + size], data[one : one + size]


def _double(data: bytearray, rng: np.random.Generator) -> None:
    one, two = (int(rng.integers(max(1, len(data) // PAGE))) * PAGE for _ in range(2))
    data[two : two + PAGE] = data[one : one + PAGE]


def _insert(data: bytearray, rng: np.random.Generator) -> None:
    begin = int(rng.integers(len(data) + 1))
    data[begin:begin] = rng.bytes(int(2 ** rng.uniform(0, 13)))


def _remove(data: bytearray, rng: np.random.Generator) -> None:
    del data[_span(rng, len(data))]


DAMAGES: list[Callable[[bytearray, np.random.Generator], None]] = [
    _flip, _flip, _flip, _overwrite, _set, _zero, _truncate, _swap, _double, _insert, _remove
]  # fmt: skip


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with one damage, now and then with two."""
    changed = bytearray(data)
    for _ in range(1 if rng.random() < 0.8 else 2):
        if changed:
            DAMAGES[rng.integers(len(DAMAGES))](changed, rng)
    return bytes(changed)


def attempt(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or `_REFUSED` if it raises a `StoreError` of one line; let all else through."""
    try:
        return call()
    except StoreError as error:
        text = str(error)
        if "\n" in text or not 10 < len(text) < 500:
            raise AssertionError(f"not one clear sentence: {text!r}") from error
        return _REFUSED


def check(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def one_round(sound: Sound, folder: Path, rng: np.random.Generator) -> Counter[str]:
    """Damage the store once and look at all of it."""
    path = folder / "damaged.db"
    for ending in ("", "-wal", "-shm", "-lock"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    data = damaged(sound.data, rng)
    path.write_bytes(data)
    store = Store(path, timeout=1.0)
    seen: Counter[str] = Counter()

    def note(what: str, answer: Any, expected: Any) -> None:
        check(answer is _REFUSED or answer == expected, f"a wrong answer to {what}")
        seen[f"{what}: {'refused' if answer is _REFUSED else 'right'}"] += 1
        check(path.read_bytes() == data, f"{what} changed the file")
        check(set(os.listdir(folder)) <= {"damaged.db", "damaged.db-lock"}, f"{what} left files behind")

    note("list", attempt(store.runs), sound.summaries)
    for name, expected in sound.runs.items():
        note("read", attempt(lambda name=name: run_key(store.read(name))), expected)
    name = str(rng.choice(list(sound.runs)))
    answer = attempt(lambda: store.resume(name))
    if answer is _REFUSED:
        note("resume", _REFUSED, None)
    else:
        run, writer = answer
        writer.close()
        note("resume", run_key(run), sound.runs[name])
        if rng.random() < 0.3:
            go_on(store, name, sound.runs)
            seen["went on: right"] += 1
    return seen


def go_on(store: Store, name: str, runs: dict[str, Any]) -> None:
    """What was found fit for writing must be: make use of the free pages, and look at all runs again."""
    before = {each for each in runs if attempt(lambda: store.read(each)) is not _REFUSED}  # noqa: B023
    run, writer = store.resume(name)
    state = bytes(50_000)
    with writer:
        writer.write((), replace(run.snapshot, state=state))
    now = store.read(name)
    check(now.snapshot.state == state and read_key(now)[1] == read_key(run)[1], "the next write came out wrong")
    for each in before - {name}:
        check(run_key(store.read(each)) == runs[each], "the next write hurt another run")


def fuzz(rounds: int, seed: int, folder: Path) -> Counter[str]:
    """Damage a store in `rounds` ways, and count what happened."""
    (folder / "sound").mkdir()
    (folder / "work").mkdir()
    sound = sound_store(folder / "sound")
    total: Counter[str] = Counter()
    for number in range(rounds):
        try:
            total += one_round(sound, folder / "work", np.random.default_rng([seed, number]))
        except Exception as error:
            raise AssertionError(f"round {number} of seed {seed}: {error}") from error
    return total


def fuzz_log(rounds: int, seed: int, folder: Path) -> Counter[str]:
    """Damage the log of a store that was left open: some earlier moment may be read, nothing else."""
    path = folder / "logged.db"
    script = list(itertools.islice(steps(seed, state_size=4000), 201))
    moments = [read_key_of_none(), *map(step_key, script)]
    copies: dict[int, tuple[bytes, bytes]] = {}
    with Store(path) as store:
        writer = store.create(head("a"), empty())
        for number, step in enumerate(script[:200], start=1):
            writer.write(step.rows, step.snapshot)
            if number % 50 == 0:
                # To open the file beside SQLite drops its locks, which does no harm here: nobody else is about.
                copies[number] = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    work = folder / "log"
    work.mkdir()
    total: Counter[str] = Counter()
    for number in range(rounds):
        rng = np.random.default_rng([seed, 1, number])
        which = int(rng.choice(list(copies)))
        data, wal = copies[which]
        hurt = rng.choice(["wal", "both", "main"], p=[0.7, 0.15, 0.15])
        wal = damaged(wal, rng) if hurt != "main" else wal
        data = damaged(data, rng) if hurt != "wal" else data
        shutil.rmtree(work)
        work.mkdir()
        (work / "a.db").write_bytes(data)
        (work / "a.db-wal").write_bytes(wal)
        store = Store(work / "a.db", timeout=1.0)
        where = f"in round {number} of seed {seed} ({hurt})"
        answer = attempt(lambda store=store: read_key(store.read("a")))
        resumed = attempt(lambda store=store: store.resume("a"))
        check(answer is _REFUSED or answer in moments, f"a wrong answer {where}")
        check((work / "a.db").read_bytes() == data, f"reading changed the file {where}")
        check((work / "a.db-wal").read_bytes() == wal, f"reading changed the log {where}")
        if resumed is not _REFUSED:
            run, writer = resumed
            check(read_key(run) == answer, f"resumed from another moment {where}")
            with writer:
                moment = moments.index(answer)
                writer.write(script[moment].rows, script[moment].snapshot)
            check(read_key(store.read("a")) == moments[moment + 1], f"not as it should go on {where}")
        found = "refused" if answer is _REFUSED else "last" if answer == moments[which] else "earlier"
        total[f"log ({hurt} damaged): {found}"] += 1
    return total


def read_key_of_none() -> Any:
    """What is read of a run before its first step."""
    return repr(empty()), ()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        total = fuzz(options.rounds, options.seed, Path(folder))
        total += fuzz_log(options.rounds // 5, options.seed, Path(folder))
    for what, count in sorted(total.items()):
        print(f"{what:40} {count:8}")
    print(f"{options.rounds} stores and {options.rounds // 5} logs damaged: no wrong answer, no changed file")


if __name__ == "__main__":
    main()
