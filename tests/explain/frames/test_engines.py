"""The scripts of docs/scale-out.md, run on the real engines, as far as these are installed.

`make clusters` installs them into an environment of their own; elsewhere the tests skip.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import joblib
import pandas as pd
import pyarrow.dataset
import pytest

from tests.layout import ROOT

PAGE = ROOT / "docs" / "scale-out.md"
# What each script needs beyond the package, and where it leaves its reasons.
SCRIPTS = {
    "dask_frames.py": (["distributed"], "reasons_dask"),
    "spark_frames.py": (["pyspark"], "reasons_spark"),
    "ray_batches.py": (["ray"], "reasons_ray"),
    "joblib_dask.py": (["distributed"], "reasons_joblib_dask"),
    "joblib_ray.py": (["ray"], "reasons_joblib_ray"),
    "joblib_spark.py": (["pyspark", "joblibspark"], "reasons_joblib_spark"),
}

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the page is not beside the tests")


def blocks(language: str) -> list[str]:
    """Return the blocks of the page that are fenced as some language."""
    page = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def script(name: str) -> str:
    """Return the script of the page that begins with its name."""
    return next(block for block in blocks("py") if block.startswith(f"# {name}\n"))


def need(*packages: str) -> None:
    """Skip where a package is missing, or the Java that Spark runs on."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed: make clusters")
        if package == "pyspark" and shutil.which("java") is None:
            pytest.skip("Spark needs Java, and there is none")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an explainer and rows, made by the first block of the page."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "prepare.py").write_text(blocks("python")[0], encoding="utf-8")
    run(folder, "prepare.py")
    return folder


def run(folder: Path, name: str) -> str:
    """Run a script in a folder and return what it says."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, name],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "RAY_DEDUP_LOGS": "0"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def check(folder: Path, prepared: Path, name: str) -> None:
    """What an engine has written is complete, and what `explain_frame` says of all rows at once."""
    explainer = joblib.load(prepared / "explainer.joblib")
    rows = pd.read_parquet(prepared / "rows.parquet")
    expected = explainer.explain_frame(rows, id_columns=["customer"])
    found = pyarrow.dataset.dataset(folder / name, format="parquet").to_table().to_pandas()
    found = found[list(expected.columns)].sort_values("customer", ignore_index=True)
    for column in ("reason", "reason_values"):
        found[column] = found[column].map(list)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_exact=True)
    assert found["status"].value_counts().to_dict() == {"ok": 999, "invalid": 1}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_of_the_page(name: str, prepared: Path, tmp_path: Path):
    """Each script explains every row, and as one process does."""
    packages, written = SCRIPTS[name]
    need(*packages)
    for kept in ("explainer.joblib", "rows.parquet"):
        shutil.copy(prepared / kept, tmp_path)
    (tmp_path / name).write_text(script(name), encoding="utf-8")
    run(tmp_path, name)
    check(tmp_path, prepared, written)


# Kills the first of two workers that has a partition of its own in hand; the engine goes on.
KILL = """
import os, signal, time
import dask, dask.dataframe as dd, joblib
from dask.distributed import Client, LocalCluster, wait
from dask_frames import reasons


def slowly(part, explainer, folder):
    (folder / f"{os.getpid()}-{part['customer'].iloc[0]}").touch()
    time.sleep(0.2)
    return reasons(part, explainer)


if __name__ == "__main__":
    from pathlib import Path

    folder = Path("begun").resolve()
    folder.mkdir()
    explainer = joblib.load("explainer.joblib")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        workers = set(client.run(os.getpid).values())
        assert len(workers) == 2
        rows = dd.read_parquet("rows.parquet").repartition(npartitions=16)
        types = rows.dtypes[["customer"]]
        told = rows.map_partitions(
            slowly, dask.delayed(explainer), folder, meta=explainer.pandas_schema(types)
        ).persist()
        while len({path.name.split("-")[0] for path in folder.iterdir()}) < 2:
            time.sleep(0.05)
        victim = int(next(folder.iterdir()).name.split("-")[0])
        os.kill(victim, signal.SIGKILL)
        wait(told)
        begun = [path.name.split("-")[1] for path in folder.iterdir()]
        print("run again:", len(begun) - len(set(begun)))
        told.to_parquet("reasons_dask", schema=explainer.arrow_schema(types))
"""


def test_a_worker_that_is_killed(prepared: Path, tmp_path: Path):
    """Dask runs its pieces again, and the result is complete and equal."""
    need("distributed")
    for kept in ("explainer.joblib", "rows.parquet"):
        shutil.copy(prepared / kept, tmp_path)
    (tmp_path / "dask_frames.py").write_text(script("dask_frames.py"), encoding="utf-8")
    (tmp_path / "kill.py").write_text(KILL, encoding="utf-8")
    again = run(tmp_path, "kill.py")
    assert int(again.split("run again:")[1].split()[0]) >= 1
    check(tmp_path, prepared, "reasons_dask")
