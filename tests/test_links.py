"""Every link of the documentation leads somewhere: files, images, and anchors, as GitHub and the site make them."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
#: [text](target), ![text](target); a target has no spaces here.
LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")


def prose(text):
    """A page without its code, in which brackets mean something else."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"(?<!\[)`[^`\n]*`(?!\])", "", text)


def anchors(path):
    """The anchors of a page's headings: lower case, no punctuation, hyphens for spaces, numbers for doubles."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = []
    for heading in re.findall(r"^#{1,6} (.+?)\s*$", text, flags=re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        doubles = sum(re.fullmatch(re.escape(slug) + r"(-\d+)?", other) is not None for other in found)
        found.append(f"{slug}-{doubles}" if doubles else slug)
    return found


def problem_with(page, target, image):
    """What is wrong with a link, or an empty string."""
    parts = urlsplit(target)
    if parts.scheme:  # no network in tests
        valid = parts.scheme == "https" and re.fullmatch(r"[a-z0-9.-]+\.[a-z]{2,}", parts.netloc)
        return "" if valid else "is no address"
    if target.startswith("/"):
        return "must be relative, so that it holds in a checkout, too"
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not path.is_relative_to(ROOT):
        return "leads out of the project"
    if image:
        return "" if path.is_file() and path.suffix in (".png", ".svg") else "is no picture"
    if not path.is_file():
        return "is no file" if not path.is_dir() else "is a folder, which the site cannot show: name a file in it"
    if parts.fragment and parts.fragment not in anchors(path):
        return f"has no such heading; there are {anchors(path)}"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    links = list(LINK.finditer(prose(page.read_text(encoding="utf-8"))))
    wrong = {match["target"]: problem_with(page, match["target"], bool(match["image"])) for match in links}
    assert not {target: why for target, why in wrong.items() if why}


def test_images_have_a_text():
    for page in PAGES:
        for match in LINK.finditer(prose(page.read_text(encoding="utf-8"))):
            assert match["text"].strip(), f"{page.name}: {match['target']}"


def test_every_image_is_shown_somewhere():
    shown = {
        (page.parent / match["target"]).resolve()
        for page in PAGES
        for match in LINK.finditer(page.read_text(encoding="utf-8"))
        if match["image"]
    }
    images = {path.resolve() for path in (ROOT / "docs" / "images").rglob("*.*")}
    assert not images - shown


def test_the_check_finds_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# A `b`: c\n## Twice\n## Twice\n[ok](page.md#a-b-c) [ok](#twice-1)\n```\n# no heading\n```\n")
    assert anchors(page) == ["a-b-c", "twice", "twice-1"]
    for good in ("page.md#a-b-c", "#twice-1", "https://example.org/a?b=c"):
        assert not problem_with(page, good, False), good
    for bad in ("#no-heading", "other.md", "/page.md", "../x", ".", "http://example.org", "https://nonsense"):
        assert problem_with(page, bad, False), bad
    assert problem_with(page, "page.md", True)
