"""What the tests of experiments share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def experiments():
    """The files of the experiments that come with boids."""
    return sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))
