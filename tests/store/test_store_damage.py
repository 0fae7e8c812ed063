"""Damaged stores are refused or read rightly, and never changed; more rounds: `python tests/store/fuzz_store.py`."""

from __future__ import annotations

from fuzz_store import fuzz, fuzz_log


def test_damage_of_all_kinds(tmp_path):
    seen = fuzz(300, seed=0, folder=tmp_path)
    for what in ("list", "read", "resume"):  # both must happen, or the damage is too light or too heavy to tell
        assert seen[f"{what}: refused"] > 20
        assert seen[f"{what}: right"] > 20


def test_damage_of_the_log(tmp_path):
    seen = fuzz_log(60, seed=0, folder=tmp_path)
    assert sum(seen.values()) == 60
    assert seen["log (wal damaged): earlier"] > 0
