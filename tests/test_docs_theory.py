"""docs/theory.md: its table is right, and its formulas can be drawn."""

import re
from pathlib import Path

import pytest

from boids.theory import containment_probability, nested_dimensions

PAGE = Path(__file__).parents[1] / "docs" / "theory.md"


def test_the_page_has_its_examples() -> None:
    # They are run by test_pages.py.
    assert PAGE.read_text(encoding="utf-8").count(">>> ") > 20


def test_the_mathematics_can_be_drawn_on_the_site() -> None:
    # docutils, which makes MathML of it, reads \frac12 as 12/…, and knows neither \big nor \dots.
    text = PAGE.read_text(encoding="utf-8")
    assert not re.findall(r"\\[td]?frac[^{].{5}|\\big[(\[)\]]|\\dots", text)


def test_the_table_of_nested_subspaces_is_right() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \| (.*) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(rows) == 7
    for dim, visited, two, six in rows:
        expected = nested_dimensions(int(dim))
        assert tuple(map(int, visited.split(", "))) == expected
        for printed, effective_dim in ((two, 2), (six, 6)):
            exact = [containment_probability(int(dim), each, effective_dim) for each in expected]
            assert [float(each) for each in printed.split(", ")] == pytest.approx(exact, abs=0.0005)
