"""An adapter whose library is missing says so in a sentence."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("extra", "imported", "package"), [("gest", "gest_api", "gest-api"), ("sklearn", "sklearn", "scikit-learn")]
)
def test_without_the_library_there_is_a_sentence(extra, imported, package):
    code = (
        f"import sys; sys.modules[{imported!r}] = None\n"
        f"try:\n    import boids.integrations.{extra}\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        f"MissingExtra boids.integrations.{extra} needs the package {package}, which is not installed; "
        f'run `pip install "boids-opt[{extra}]"`.'
    )
