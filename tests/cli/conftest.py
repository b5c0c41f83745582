"""What the tests of the command line share: files, and what runs a command."""

import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from sklearn_probsr.cli.cases import Case
from sklearn_probsr.cli.main import main
from sklearn_probsr.cli.tables import open_table
from sklearn_probsr.exceptions import InvalidInputError
from tests.explained import mixed, people

NAMES = ["job", "home", "debt", "late"]
NUMBERS = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
SIGN = np.where(NUMBERS["a"] > 0, "up", "down")
# What is asked if nothing is.
ASKED = {
    "rows": None, "on_error": "raise", "jobs": None, "target": None, "id": None, "drop": (),
    "sep": None, "background": None, "independent": False, "sample": None, "label": None,
    "versus": None, "trust": (), "trust_pickle": False,
}  # fmt: skip


def refused(call, *arguments, **settings) -> str:
    """Return what a call is refused with."""
    with pytest.raises(InvalidInputError) as caught:
        call(*arguments, **settings)
    return str(caught.value)


def written(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def load_table(path: Path, sep: str | None = None) -> pd.DataFrame:
    """Return all rows of a file."""
    return open_table(path, sep).whole()


def case_of(model: object, table: pd.DataFrame, **asked: object) -> Case:
    """Return what is asked about a model and a table, both of which are written to files."""
    skops.io.dump(model, "m.skops")
    table.to_csv("d.csv", index=False)
    return Case(Path("m.skops"), Path("d.csv"), **(ASKED | asked))


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Path:
    """Return a folder with a scorecard, all applicants there can be, and a table of all kinds."""
    folder = tmp_path_factory.mktemp("files")
    cube = pd.DataFrame((np.arange(16)[:, None] >> np.arange(4)) & 1, columns=NAMES)
    points = np.array([3.0, 2.0, -2.0, -1.0])
    said = np.where(cube @ points - 1 > 0, "yes", "no")
    for name, X in (("model", cube), ("plain", cube.to_numpy())):
        model = LogisticRegression().fit(X, said)
        model.coef_, model.intercept_ = points[None, :], np.array([-1.0])
        skops.io.dump(model, folder / f"{name}.skops")
    cube.assign(said=said).to_csv(folder / "data.csv", index=False)
    skops.io.dump(mixed(), folder / "mixed.skops")
    people()[0].assign(paid=people()[1]).to_csv(folder / "people.csv", index=False)
    return folder


@pytest.fixture
def here(files, tmp_path, monkeypatch) -> Path:
    """Work in a folder of one's own with these files in it."""
    for path in files.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Run(NamedTuple):
    """What a command has said, and its exit code."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """Return what runs a command in this process."""

    def command(*arguments: str) -> Run:
        try:
            code = main(arguments)
        except SystemExit as left:
            code = left.code
        said = capsys.readouterr()
        return Run(code, said.out, said.err)

    return command


@pytest.fixture
def fails(run, here):
    """Return what runs a command that must fail in one line, and returns it without "Error: "."""

    def command(*arguments: str) -> str:
        before = {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()}
        done = run(*arguments)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("Error: ")
        assert done.err.count("\n") == 1
        after = {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()}
        assert before == after, "a command that fails leaves everything as it was"
        return done.err.removeprefix("Error: ").rstrip("\n")

    return command
