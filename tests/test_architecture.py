"""What docs/architecture.md says of the code: its size, journeys, and how to add a distribution."""

import inspect
import json
import subprocess
import sys

import pytest

from tests.core import test_own_law as own_law
from tests.layout import PACKAGE, ROOT

PAGE = ROOT / "docs" / "architecture.md"

pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="the sources are not beside the tests")


def test_code_is_counted_without_what_explains_it():
    """Docstrings, comments and blank lines are no code; a string that is a value is."""
    from docs.size import code_lines

    source = '"""A module."""\n\nx = """two\nlines"""  # a comment\n# another\n'
    source += 'def f():\n    """Return 1."""\n\n    return 1\n'
    assert code_lines(source) == 4
    assert code_lines("# nothing\n") == 0


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
