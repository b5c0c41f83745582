"""Compiled code on disk: damaged, out of date or not to be written, it changes no answer."""

import importlib
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import sklearn_probsr
from sklearn_probsr.core import jit
from tests.core.every_kernel import kernels
from tests.interpreted import INTERPRETED, WHOLE

resource = pytest.importorskip("resource")

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")

CALLEE = """
from typing import NamedTuple
from sklearn_probsr.core.jit import inner

FACTOR = 2

class Pair(NamedTuple):
    first: int
    second: int

@inner
def times(x):
    return FACTOR * x
"""
TINY = """
from sklearn_probsr.core.jit import kernel
from tiny_callee import Pair, times

@kernel
def twice(x):
    return times(x)

@kernel
def thrice(x):
    return 3 * x

@kernel
def less(pair):
    return pair.first - pair.second
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], ModuleType]:
    """Return what imports the tiny kernels as a new process would."""
    (tmp_path / "tiny_callee.py").write_text(CALLEE)
    (tmp_path / "tiny_kernels.py").write_text(TINY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(jit, "_WARNED", [])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load() -> ModuleType:
        for name in ("tiny_kernels", "tiny_callee"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("tiny_kernels")

    return load


def hits(kernel) -> int:
    return sum(kernel.stats.cache_hits.values())


def files(folder: Path, name: str) -> list[Path]:
    return sorted((folder / "__pycache__").glob(f"tiny_kernels.{name}-*.nb*"))


DAMAGES: dict[str, Callable[[bytes, bytes], bytes]] = {
    "empty": lambda own, other: b"",
    "cut short": lambda own, other: own[: len(own) // 2],
    "zeros": lambda own, other: bytes(len(own)),
    "zeros at its end": lambda own, other: own[: len(own) // 2] + bytes(len(own) // 2),
    "another kernel's": lambda own, other: other,
    "something else": lambda own, other: b"\x80\x04\x95 something else\n.",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_none(tmp_path: Path, load: Callable[[], ModuleType], damage: str):
    """The kernel is compiled once more, and its file is mended."""
    tiny = load()
    assert (tiny.twice(2), tiny.thrice(2)) == (4, 6)
    own, others = files(tmp_path, "twice"), files(tmp_path, "thrice")
    for path, other in zip(own, others, strict=True):
        path.write_bytes(DAMAGES[damage](path.read_bytes(), other.read_bytes()))
    for found in (0, 1):
        tiny = load()
        assert tiny.twice(2) == 4
        assert hits(tiny.twice) == found


def test_a_pipe_in_the_place_of_a_file(tmp_path: Path, load: Callable[[], ModuleType]):
    """Nobody waits for what is never written to it: a file takes its place."""
    tiny = load()
    assert tiny.twice(2) == 4
    for path in files(tmp_path, "twice"):
        path.unlink()
        os.mkfifo(path)
    for found in (0, 1):
        tiny = load()
        assert tiny.twice(2) == 4
        assert hits(tiny.twice) == found


def test_a_folder_in_the_place_of_a_file(tmp_path: Path, load: Callable[[], ModuleType]):
    """It stays where it is, and one warning says that nothing can be kept."""
    tiny = load()
    assert (tiny.twice(2), tiny.thrice(2)) == (4, 6)
    for path in files(tmp_path, "twice") + files(tmp_path, "thrice"):
        path.unlink()
        path.mkdir()
    tiny = load()
    with pytest.warns(RuntimeWarning) as caught:
        assert (tiny.twice(2), tiny.thrice(2)) == (4, 6)
    assert [str(one.message) for one in caught] == [warning(tmp_path, "Is a directory")]


def warning(folder: Path, why: str) -> str:
    return (
        f"compiled code cannot be kept in {folder / '__pycache__'}: {why}. Every process compiles "
        "anew what is not kept, which takes seconds. Make room there, or set NUMBA_CACHE_DIR to a "
        "directory of your own."
    )


def test_a_full_disk(tmp_path: Path, load: Callable[[], ModuleType]):
    """What is not written down in whole is not there at all, and answers come with one warning."""
    tiny, before = load(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.warns(RuntimeWarning) as caught:
            assert (tiny.twice(2), tiny.thrice(2)) == (4, 6)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [str(one.message) for one in caught] == [warning(tmp_path, "File too large")]
    assert not files(tmp_path, "")
    tiny = load()
    assert tiny.twice(2) == 4
    assert files(tmp_path, "twice")


@pytest.mark.parametrize(
    ("before", "after"),
    [("FACTOR * x", "FACTOR * x + 1"), ("FACTOR = 2", "FACTOR = 5"), ("@inner", "@inner\n\n")],
    ids=["step", "number", "empty lines"],
)
def test_an_edited_callee_is_noticed(
    tmp_path: Path, load: Callable[[], ModuleType], before: str, after: str
):
    """A kernel is compiled once more if what it calls does something else now, and only then."""
    assert load().twice(2) == 4
    edited = CALLEE.replace(before, after)
    (tmp_path / "tiny_callee.py").write_text(edited)
    tiny = load()
    plain: dict[str, object] = {}
    exec(edited.replace("@inner", ""), plain)
    assert tiny.twice(2) == plain["times"](2)
    assert hits(tiny.twice) == (after == "@inner\n\n")


def test_fields_that_changed_places_are_noticed(tmp_path: Path, load: Callable[[], ModuleType]):
    """A kernel that was compiled for a tuple of other fields is not that of this one."""
    tiny = load()
    assert tiny.less(tiny.Pair(first=5, second=3)) == 2
    turned = CALLEE.replace("first: int\n    second: int", "second: int\n    first: int")
    (tmp_path / "tiny_callee.py").write_text(turned)
    tiny = load()
    assert tiny.less(tiny.Pair(first=5, second=3)) == 2
    assert hits(tiny.less) == 0


def test_all_that_kernels_use_is_followed():
    """Kernels, numbers and tuples with named fields; an array would be compiled in unseen."""
    for kernel in kernels():
        function = kernel.py_func
        for name in function.__code__.co_names:
            value = function.__globals__.get(name, math)
            several = hasattr(value, "compiled_as")  # one function for several types
            assert (
                isinstance(value, (bool, int, float, ModuleType))
                or several
                or hasattr(value, "_fields" if isinstance(value, type) else "py_func")
            ), (kernel, name)


ASK = """
import numpy as np
from sklearn_probsr import LinearModel, Matching, sufficient_reasons
rng = np.random.default_rng(0)
rows = rng.integers(0, 2, (60, 8))
model = LinearModel(rng.standard_normal(8), 0.1)
over = Matching(rows, min_rows=5)
found = sufficient_reasons(model, rows[:5], distribution=over, delta=0.9)
print([(one.features, str(one.guarantee), one.minimality) for one in found])
"""


def start(cache: Path, *options: str, **also: str) -> "subprocess.Popen[str]":
    root = str(Path(sklearn_probsr.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": root, "NUMBA_CACHE_DIR": str(cache), **also}
    env.pop("COVERAGE_PROCESS_START", None)
    command = [sys.executable, *options, "-c", ASK]
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def answer(cache: Path, *options: str, **also: str) -> str:
    asked = start(cache, *options, **also)
    told, errors = asked.communicate(timeout=300)
    assert asked.returncode == 0, errors
    return told


@WHOLE
def test_an_explanation_whose_files_are_all_damaged(tmp_path: Path):
    """It is the same in every process: with files, with damaged ones, optimized, interpreted."""
    kept = tmp_path / "kept"
    told = answer(kept)
    assert list(kept.rglob("*.nbc"))
    for damage in DAMAGES.values():
        damaged = shutil.copytree(kept, tmp_path / "damaged")
        paths = sorted(damaged.rglob("*.nbc"))
        codes = [path.read_bytes() for path in paths]
        for i, path in enumerate(paths):
            path.write_bytes(damage(codes[i], codes[i - 1]))
        assert answer(damaged) == told
        shutil.rmtree(damaged)
    assert answer(kept, "-O") == answer(kept, "-OO") == told
    assert answer(kept, NUMBA_DISABLE_JIT="1") == told


@WHOLE
def test_processes_that_are_killed_while_they_write(tmp_path: Path):
    """Whenever that is, the next ones answer, and two of them at once."""
    told = answer(tmp_path / "kept")
    for i in range(12):
        cache = tmp_path / f"cache{i}"
        killed = start(cache)
        with pytest.raises(subprocess.TimeoutExpired):
            killed.communicate(timeout=0.5 + 0.25 * i)
        killed.kill()
        killed.communicate()
        both = [start(cache) for _ in range(2)]
        assert [one.communicate(timeout=300)[0] for one in both] == [told, told]
