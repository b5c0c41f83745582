"""The site: what checks its links, and whether the reference has every public name."""

import re
from pathlib import Path

import pytest

import sklearn_probsr
from tests.layout import ROOT

DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the pages are not beside the tests")


def test_broken_links_are_found(tmp_path: Path):
    """A page that is not there, a place that is not there, and whatever comes from elsewhere."""
    from docs.check_site import problems

    (tmp_path / "a.html").write_text(
        '<h1 id="here"></h1><a href="b.html#there"></a><a href="#here"></a><a href="c.html"></a>'
        '<a href="https://example.org"></a><img src="https://example.org/x.png"><img src="x.png">'
    )
    (tmp_path / "b.html").write_text("<p id='elsewhere'></p>")
    assert problems(tmp_path) == [
        "a.html loads https://example.org/x.png",
        "a.html loads x.png, which is not there",
        "a.html links to b.html#there, which has no such place",
        "a.html links to c.html, which is not there",
    ]


def test_the_reference_has_every_public_name():
    """All that can be imported, and every function of plots and adapters."""
    from sklearn_probsr import adapters, plots

    told = set(re.findall(r"^   ([\w.]+)$", (DOCS / "api.md").read_text(), re.MULTILINE))
    public = set(sklearn_probsr.__all__) - {"plots"}
    inside = {f"plots.{name}" for name in plots.__all__}
    inside |= {f"adapters.{name}" for name in set(adapters.__all__) - public}
    assert told == public | inside


def test_every_page_has_its_place():
    """Each page of the documentation stands in one list of contents."""
    listed = []
    for page in DOCS.glob("*.md"):
        for block in re.findall(r"```{toctree}\n(.*?)```", page.read_text(), re.DOTALL):
            listed += [line for line in block.splitlines() if line and not line.startswith(":")]
    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    assert sorted(listed) == sorted({*pages, "gallery/index"})
