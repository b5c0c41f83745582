"""What docs/architecture.md says of the code: rooms, journeys, and how to add a distribution."""

import inspect
import json
import subprocess
import sys

import pytest

from tests.core import test_own_law as own_law
from tests.layout import CORE, PACKAGE, ROOT, SHELLS

PAGE = ROOT / "docs" / "architecture.md"

pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="the sources are not beside the tests")


def test_the_graph_is_that_of_the_imports():
    """The picture and the table are what `make graph` draws from the sources as they are."""
    from docs import graph

    again = "docs/architecture.md shows other imports than the sources: run make graph"
    assert graph.BETWEEN.search(PAGE.read_text(encoding="utf-8"))[0] == graph.table(), again
    assert graph.PICTURE.read_text(encoding="utf-8") == graph.svg(), again


def test_the_graph_leaves_out_what_is_implied_and_nothing_else():
    """Every import between rooms is an arrow or a chain of arrows, each to a higher layer."""
    from docs import graph

    found = graph.edges()
    assert ("laws", "engines") in found
    drawn = graph.reduced(found)
    depth = graph.layers(drawn)
    assert all(depth[a] > depth[b] for a, b in found)
    assert max(depth[a] for a in CORE) < min(depth[a] for a in SHELLS)
    chains = set(drawn)
    while longer := {(a, d) for a, b in chains for c, d in drawn if b == c} - chains:
        chains |= longer
    assert found <= chains
    assert drawn < found


def test_the_journeys_run():
    """Each journey of the page is run again, and visits files of the package."""
    done = subprocess.run(
        [sys.executable, "-m", "docs.journeys"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told) == 4
    assert all(len(files) > 5 for files in told.values())


def test_the_page_adds_the_distribution_that_is_tested():
    """The lines of the page are those which are held against all completions."""
    page = PAGE.read_text(encoding="utf-8")
    for part in (own_law.Mixture, own_law.MixtureView, own_law.MixtureLaw):
        assert inspect.getsource(part) in page
