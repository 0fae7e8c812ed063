"""How the site is built: `make docs`, or ``sphinx-build -c docs . build/docs``.

The source folder is the root of the repository, so that a relative link from any page to any file means the same on the
site as in a checkout: pages become pages, other files become downloads. Nothing is fetched, neither to build the site
nor to read it.
"""

from __future__ import annotations

import tomllib
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

from boids import __version__

ROOT = Path(__file__).parent.parent
#: Defaults with more characters are named by their class alone.
LONG = 60
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "boids"
author = copyright = METADATA["authors"][0]["name"]
release = version = __version__

root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/**/*.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "examples/README.md",
    "examples/beam/README.md",
]
# Not pages, and too large to be searched for any.
exclude_patterns = [".*", "build", "dist", "results", "src", "tests", "experiments", "benchmarks", "docs/_site"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# Pages: GitHub's Markdown with its anchors and dollar mathematics, and as little of MyST's own as possible.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# The reference: NumPy-style docstrings, in which one pair of backticks marks code, or a name that may have an entry.
napoleon_google_docstring = False
napoleon_use_rtype = False
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", ".*"),  # what single backticks mark is often no name
    ("py:class", r"(np|numpy|scipy|optuna|gest_api|sklearn|concurrent|collections|pathlib)\..*"),
    ("py:class", r"(typing|types|os|matplotlib)\..*"),
    ("py:class", "ArrayLike|DTypeLike|NDArray|Figure|Study|FrozenTrial|BaseDistribution"),
    # Aliases of types, and classes of which users only see instances.
    ("py:class", "[A-Za-z]*(Array|Name|Evaluator|Statistic|Centre|Law|State)"),
    ("py:class", r"boids\.(algorithms\.boids_state|algorithms\.protocol|journal|run|setup|stopping|store|space)\..*"),
    ("py:exc", "ResultsError"),
]

html_theme = "furo"
html_title = "boids"
html_static_path = ["_site/static"]
html_css_files = ["boids.css"]
html_extra_path = ["_site/root"]  # index.html, which leads to docs/index.html
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"

# Mathematics as MathML, which every current browser draws by itself. MathJax would be two megabytes of scripts and
# fonts to ship with the site, or a network; pictures would need LaTeX. docutils, which Sphinx stands on, converts it.
# The site has 100 kB of a mathematical font for machines without one (boids.css).
html_math_renderer = "mathml"


def _inline_math(translator: Any, node: nodes.math) -> None:
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _display_math(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math-block">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def _settings(thing: Any) -> list[Any]:
    """Return the fields of a method that say where their default comes from."""
    return [f for f in fields(thing) if "source" in f.metadata] if is_dataclass(thing) else []


def _shorten_signature(_: Sphinx, what: str, __: str, thing: Any, ___: Any, signature: str, returned: str) -> Any:
    # Dozens of settings: they are listed below, with their sources.
    return ("(**settings)", returned) if what == "class" and _settings(thing) else (signature, returned)


def _list_settings(_: Sphinx, what: str, __: str, thing: Any, ___: Any, lines: list[str]) -> None:
    found = _settings(thing) if what == "class" else []
    if found:
        lines += ["", "Parameters", "----------"]
    for f in found:
        default = repr(f.default) if len(repr(f.default)) < LONG else f"{type(f.default).__name__}(…)"
        words = f.metadata["source"].replace("|", "\\|").replace("*", "\\*")
        lines += [f"{f.name}", f"    ``{default}``; {words or 'ours'}"]


_as_written: dict[str, list[str]] = {}


def _keep_docstring(_: Sphinx, what: str, name: str, __: Any, ___: Any, lines: list[str]) -> None:
    if what in ("property", "attribute", "data"):
        _as_written[name] = list(lines)


def _restore_docstring(_: Sphinx, what: str, name: str, __: Any, ___: Any, lines: list[str]) -> None:
    lines[:] = _as_written.pop(name, lines)


def setup(app: Sphinx) -> None:
    """Register the renderer of mathematics, and what the reference needs.

    napoleon takes "A sentence: more" of an attribute for "type: description", so these docstrings are put back.
    """
    app.connect("autodoc-process-signature", _shorten_signature)
    app.connect("autodoc-process-docstring", _list_settings, priority=300)
    app.connect("autodoc-process-docstring", _keep_docstring, priority=400)
    app.connect("autodoc-process-docstring", _restore_docstring, priority=600)
    app.add_html_math_renderer("mathml", (_inline_math, None), (_display_math, None))
