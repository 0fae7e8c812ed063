"""docs/theory.md is run: every example on the page must print what the page says, in order, in one namespace."""

import doctest
import re
from pathlib import Path

import pytest

from boids.theory import containment_probability, nested_dimensions

PAGE = Path(__file__).parents[1] / "docs" / "theory.md"


def test_the_examples_print_what_the_page_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    source = "\n".join(blocks)
    test = doctest.DocTestParser().get_doctest(source, {}, "theory.md", str(PAGE), 0)
    assert len(test.examples) > 20
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    if result.failed:
        pytest.fail("\n".join(report))


def test_the_table_of_nested_subspaces_is_right() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \| (.*) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(rows) == 7
    for dim, visited, two, six in rows:
        expected = nested_dimensions(int(dim))
        assert tuple(map(int, visited.split(", "))) == expected
        for printed, effective_dim in ((two, 2), (six, 6)):
            exact = [containment_probability(int(dim), each, effective_dim) for each in expected]
            assert [float(each) for each in printed.split(", ")] == pytest.approx(exact, abs=0.0005)
