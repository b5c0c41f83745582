"""The table of what is supported tells the releases that are tested."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from sklearn_probsr.adapters.registry import SKLEARN, entries

PYPROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"
RELEASES = {entry.package: entry.release for entry in entries() if entry.package}


@pytest.mark.parametrize(("package", "release"), RELEASES.items())
def test_the_installed_release_is_one_that_the_table_promises(package: str, release: str):
    """From the one on that it names."""
    try:
        found = version(package)
    except PackageNotFoundError:
        if package != "xgboost":
            pytest.skip(f"{package} is not installed")
        found = version_of_xgboost()
    numbers = [[int(n) for n in re.findall(r"\d+", text)[:2]] for text in (found, release)]
    assert numbers[0] >= numbers[1]


def version_of_xgboost() -> str:
    """Return the release of XGBoost without what a graphics card needs."""
    try:
        return version("xgboost-cpu")
    except PackageNotFoundError:
        pytest.skip("xgboost is not installed")


def test_the_extra_installs_what_the_table_names():
    """The lower bounds of pyproject.toml are the releases of the table, scikit-learn's too."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    extra = [*extras["packages"], *extras["pygam"]]
    bounds = dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in extra)
    bounds["xgboost"] = bounds.pop("xgboost-cpu")
    bounds.pop("skglm")  # taken by what it has, not by its type
    bounds.pop("feature-engine")  # registered by what docs/adapters.md shows
    assert bounds == RELEASES
    assert f"scikit-learn>={SKLEARN}" in project["dependencies"]
