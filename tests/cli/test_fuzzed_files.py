"""Files with some of their bytes changed: each is read, or refused in one line."""

import io
import os
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from sklearn_probsr import SufficientReasonExplainer

# `make thorough` makes the most of each file.
CASES = 2_000 if os.environ.get("SKLEARN_PROBSR_CASES") == "whole" else 60
ENDS = {"read", "refused"}
TABLE = pd.DataFrame(
    {
        "number": np.arange(40) / 7,
        "text": ["a", "bc", "ç", "d e"] * 10,
        "kind": pd.Categorical(["x", "y"] * 20),
        "flag": [True, False] * 20,
    }
)
# Run apart, as a crash would end the tests as well; it tells how each file ended.
READ = """
import resource, sys, warnings
from pathlib import Path
from sklearn_probsr import ReasonExplanation
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.cli.models import load_model
from sklearn_probsr.cli.tables import open_table
warnings.simplefilter("ignore")
import pandas as pd
frame = pd.DataFrame({"number": [0.5, 2.0], "text": ["a", "bc"]})
def model(path):
    found = load_model(path)
    found.predict(frame if "words" not in path.name else frame["text"])
def table(path):
    found = open_table(path)
    found.whole()
    for batch in found.read(10_000):
        pass
read = {"model": model, "table": table, "reasons": ReasonExplanation.load}
for name in sys.stdin.read().split():
    path = Path(name)
    print(name, end=" ", flush=True)
    try:
        read[name.split(".")[0]](path)
        print("read", flush=True)
    except InvalidInputError as error:
        print("refused" if "\\n" not in str(error) else "lines", flush=True)
    except BaseException as error:
        print(type(error).__name__, str(error)[:200].replace("\\n", " "), flush=True)
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)
"""


@pytest.fixture(scope="module")
def originals(tmp_path_factory) -> dict[str, bytes]:
    """Return files of every kind that is read, by names that tell the kind."""
    folder = tmp_path_factory.mktemp("originals")
    said = ["up", "down"] * 20
    steps = make_column_transformer((OneHotEncoder(), ["text"]), (StandardScaler(), ["number"]))
    X = TABLE[["number", "text"]]
    numbers = make_column_transformer((StandardScaler(), ["number"]))
    texts = make_pipeline(CountVectorizer(token_pattern="."), LogisticRegression())
    skops.io.dump(make_pipeline(steps, LogisticRegression()).fit(X, said), folder / "model.skops")
    skops.io.dump(texts.fit(TABLE["text"], said), folder / "model.words.skops")
    support = make_pipeline(numbers, SVC(kernel="linear"))
    skops.io.dump(support.fit(X, said), folder / "model.svc.skops")
    TABLE.to_csv(folder / "table.csv", index=False)
    for name in ("snappy", "zstd"):
        TABLE.to_parquet(folder / f"table.{name}.parquet", compression=name)
    for name in ("lz4", "uncompressed"):
        TABLE.to_feather(folder / f"table.{name}.feather", compression=name)
    model = LogisticRegression().fit(TABLE[["number"]], said)
    SufficientReasonExplainer(model, TABLE[["number"]])(TABLE[["number"]][:5]).save(
        folder / "reasons.npz"
    )
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def changed(content: bytes, rng: np.random.Generator) -> bytes:
    """Return some bytes with a few of them changed, cut out, doubled, or a large number."""
    found = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(found)))
        length = int(rng.integers(1, 16))
        match rng.integers(6):
            case 0:
                found[at] = int(rng.integers(256))
            case 1:
                found[at] ^= 1 << int(rng.integers(8))
            case 2:
                del found[at : at + length]
            case 3:
                found[at:at] = found[at : at + length]
            case 4:
                number = int(rng.choice([-1, 2**31 - 1, 2**40, 10**17, -(2**63)]))
                found[at : at + 8] = struct.pack("<q", number)
            case _:
                del found[at:]
        if not found:
            return b"?"
    return bytes(found)


def inside(content: bytes, rng: np.random.Generator) -> bytes:
    """Return an archive, one of whose members was changed, with checksums that are right."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = sorted(members)[int(rng.integers(len(members)))]
    members[name] = changed(members[name], rng)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for own, held in members.items():
            archive.writestr(own, held)
    return file.getvalue()


def mutations(originals: dict[str, bytes], cases: int) -> Iterator[tuple[str, bytes]]:
    rng = np.random.default_rng(0)
    for name, content in sorted(originals.items()):
        kind, _, rest = name.partition(".")
        for k in range(cases):
            deep = content[:2] == b"PK" and k % 4
            yield f"{kind}.{k}.{rest}", inside(content, rng) if deep else changed(content, rng)


def read_apart(names: list[str], folder: Path) -> list[str]:
    """Return how reading each of some files ended, and how many kibibytes it took in the end."""
    done = subprocess.run(
        [sys.executable, "-c", READ],
        input="\n".join(names),
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    return [line.split(" ", 1)[1] for line in lines]


def test_changed_files_are_read_or_refused(originals, tmp_path):
    """No change ends the process, fills the memory, or is told in more than a line."""
    names = []
    for name, content in mutations(originals, CASES):
        (tmp_path / name).write_bytes(content)
        names.append(name)
    *ends, peak = read_apart(names, tmp_path)
    odd = {name: end for name, end in zip(names, ends, strict=True) if end not in ENDS}
    assert odd == {}
    assert ends.count("refused") > len(ends) / 4
    assert ends.count("read") > len(ends) / 40
    assert int(peak) < 1_500_000 * (1024 if sys.platform == "darwin" else 1)


def test_unchanged_files_are_read(originals, tmp_path):
    """What the changes are made to is sound."""
    for name, content in originals.items():
        (tmp_path / name).write_bytes(content)
    assert {*read_apart([*originals], tmp_path)[:-1]} == {"read"}
