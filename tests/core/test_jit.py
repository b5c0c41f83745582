"""Where compiled code is kept: beside the package, at home, in a private place, or nowhere."""

import ctypes
import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core.errors import TypingError
from numba.core.event import Listener, install_listener

import sklearn_probsr
from sklearn_probsr.core import jit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")

WARNING = (
    "compiled code cannot be kept: neither the package nor the home nor the temporary directory "
    "is a place where this user, and nobody else, can write. Every process compiles anew, which "
    "takes seconds. Set NUMBA_CACHE_DIR to a directory of your own."
)

# Prints the answer, how much compiled code was found on disk and where, and warnings of ours.
ASK = """
import tempfile, warnings
{before}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np
    from sklearn_probsr import LinearModel, guarantee
    from sklearn_probsr.independent.certainty import _count
    model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    print(guarantee(model, [1, 0, 0, 1, 1], features=[0, 2]).exact)
    _count(np.array([3, 2, 1]), 2, 4)
print(sum(_count.stats.cache_hits.values()), _count.stats.cache_path)
print(*(w.message for w in caught if "compiled code" in str(w.message)), sep="\\n")
"""


def without_rights() -> None:
    """Make root obey permissions: a new program gets no right to pass over them."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
        if ctypes.CDLL(None).prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
            raise OSError("root cannot give up its rights here")


@pytest.fixture
def package(tmp_path: Path):
    """A copy of the package and a home that are closed, and a temporary folder that is open."""
    source, folder = Path(sklearn_probsr.__file__).parent, tmp_path / "site"
    shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    closed = [tmp_path / "home", folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in closed:
        path.chmod(0o555)
    yield tmp_path
    for path in closed:
        path.chmod(0o755)


def ask(package: Path, before: str = "") -> list[str]:
    """Return what a process prints that may write to the temporary folder only."""
    env = {**os.environ, "PYTHONPATH": str(package / "site"), "HOME": str(package / "home")}
    env["TMPDIR"] = str(package / "tmp")
    for name in (
        "NUMBA_CACHE_DIR",
        "NUMBA_DISABLE_JIT",
        "XDG_CACHE_HOME",
        "COVERAGE_PROCESS_START",
    ):
        env.pop(name, None)
    root = os.geteuid() == 0
    done = subprocess.run(
        [sys.executable, "-c", ASK.format(before=before)],
        cwd=package / "home",
        env=env,
        preexec_fn=without_rights if root else None,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_private_temporary_cache(package: Path):
    """Where neither package nor home can be written to, code is kept out of others' reach."""
    private = package / "tmp" / f"sklearn-probsr-{os.geteuid()}"
    for hits in ("0", "1"):
        answer, kept, *warned = ask(package)
        assert answer == "7/8"
        assert kept.split()[0] == hits
        assert Path(kept.split()[1]).parent == private
        assert warned == [""]
    assert private.stat().st_mode & 0o777 == 0o700
    assert any(private.rglob("*.nbc"))


def test_compiled_in_memory(package: Path):
    """Where nothing can be written at all, answers come all the same, after one warning."""
    nowhere = f"tempfile.tempdir = {str(package / 'home')!r}"
    assert ask(package, nowhere) == ["7/8", "0 None", WARNING]


def test_a_cache_laid_out_by_others(package: Path):
    """A directory that others can write to is not read from, whatever is in it."""
    trap = package / "tmp" / f"sklearn-probsr-{os.geteuid()}"
    trap.mkdir()
    trap.chmod(0o777)
    assert ask(package) == ["7/8", "0 None", WARNING]
    assert not list(trap.iterdir())


def test_who_can_write_there(tmp_path: Path):
    """A directory is ours if nobody else can write to it, or put another one in its place."""
    inside = tmp_path / "above" / "cache"
    inside.mkdir(mode=0o700, parents=True)
    assert jit._is_ours(inside)
    for mode, ours in ((0o702, False), (0o770, False), (0o777, False), (0o755, True)):
        inside.chmod(mode)
        assert jit._is_ours(inside) is ours
    for mode, ours in ((0o777, False), (0o775, False), (0o1777, True), (0o755, True)):
        inside.parent.chmod(mode)
        assert jit._is_ours(inside) is ours
    link, way = tmp_path / "link", tmp_path / "way"
    link.symlink_to(inside)
    way.mkdir()
    (way / "there").symlink_to(inside.parent)
    assert not jit._is_ours(link)
    assert jit._is_ours(way / "there" / "cache")
    way.chmod(0o777)
    assert not jit._is_ours(way / "there" / "cache")
    assert not jit._is_ours(tmp_path / "missing")
    if os.geteuid() == 0:
        os.chown(inside, 65534, -1)
        assert not jit._is_ours(inside)


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_a_home_that_others_can_write_to(package: Path, mode: int):
    """Code is kept at home if that is this user's alone, and else where it is."""
    (package / "home").chmod(mode)
    place = package / "home" / ".cache" / "numba"
    if mode == 0o777:
        place = package / "tmp" / f"sklearn-probsr-{os.geteuid()}"
    for hits in ("0", "1"):
        answer, kept, *warned = ask(package)
        assert answer == "7/8"
        assert kept.split()[0] == hits
        assert Path(kept.split()[1]).parent == place
        assert warned == [""]


def test_a_named_place_is_taken_as_it_is(package: Path):
    """Where NUMBA_CACHE_DIR leads is its user's decision, whoever else can write there."""
    named = package / "tmp" / "named"
    named.mkdir()
    named.chmod(0o777)
    before = f"import os; os.environ['NUMBA_CACHE_DIR'] = {str(named)!r}"
    assert Path(ask(package, before)[1].split()[1]).parent == named


def test_a_temporary_directory_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A file in its place, or no temporary directory at all, is no place either."""
    (tmp_path / f"sklearn-probsr-{os.geteuid()}").touch()
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path))
    assert jit._temporary.__wrapped__() is None


COMPILE = """
import sys
import numpy as np
from sklearn_probsr.independent.certainty import _count
print("ready", flush=True)
sys.stdin.readline()
_count(np.array([3, 2, 1]), 2, 4)
print(sum(_count.stats.cache_hits.values()), sum(_count.stats.cache_misses.values()))
"""


def test_processes_do_not_compile_the_same_at_once(tmp_path: Path):
    """Of two that need a kernel at the same time one compiles it, and the other waits and loads."""
    root = str(Path(sklearn_probsr.__file__).parents[1])
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": root}
    for name in ("NUMBA_DISABLE_JIT", "COVERAGE_PROCESS_START"):
        env.pop(name, None)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", COMPILE],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for one in both:
        assert one.stdout.readline() == "ready\n"
    for one in both:
        one.stdin.write("\n")
        one.stdin.flush()
    assert sorted(one.communicate(timeout=120)[0] for one in both) == ["0 1\n", "1 0\n"]


def test_a_lock_is_given_back(tmp_path: Path):
    """Also where compiling fails, and it may be taken again on the way; without a place, none."""
    lock = jit._Lock()
    for place in (lambda: str(tmp_path), lambda: None, lambda: str(tmp_path / "missing")):
        lock.take(place)
        lock.take(place)
        lock.give_back()
        assert lock._file is None

    @jit.kernel
    def wrong(x):
        return x.no_such_thing

    with pytest.raises((TypingError, AttributeError)):
        wrong(1)
    assert jit._LOCK._file is None


class Watching(Listener):
    """Notes whether the garbage collector is at work whenever Numba starts to compile."""

    def __init__(self) -> None:
        self.seen: list[bool] = []

    def on_start(self, event):
        self.seen.append(gc.isenabled())

    def on_end(self, event):
        pass


@pytest.mark.parametrize("at_work", [True, False])
def test_the_garbage_collector_rests_while_a_kernel_is_compiled(at_work: bool):
    """Afterwards it is as it was, also where compiling fails."""

    @jit.kernel
    def more(x):
        return x + 1

    @jit.kernel
    def wrong(x):
        return x.no_such_thing

    watching = Watching()
    (gc.enable if at_work else gc.disable)()
    try:
        with install_listener("numba:compile", watching):
            assert more(1) == 2
            with pytest.raises((TypingError, AttributeError)):
                wrong(1)
        after = gc.isenabled()
    finally:
        gc.enable()
    assert after == at_work
    assert set(watching.seen) <= {False}
    assert watching.seen or numba.config.DISABLE_JIT


def test_who_waits_too_long_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A process that hangs while it compiles does not stop the others for ever."""
    monkeypatch.setattr(jit, "_PATIENCE", 0.05)
    first, second = jit._Lock(), jit._Lock()
    first.take(lambda: str(tmp_path))
    second.take(lambda: str(tmp_path))
    assert second._file is not None
    second.give_back()
    first.give_back()


def test_numbers_that_are_written_down_compile_nothing_anew():
    """Of each literal, and of a variable's first value, Numba would compile a function again."""

    @jit.inner
    def shift(x, sign):
        return x + sign

    @jit.kernel
    def there_and_back(n):
        x = 0
        for _ in range(n):
            x = shift(x, 2)
            x = shift(x, sign=-1)
        return shift(x, 0)

    assert there_and_back(3) == 3
    if not numba.config.DISABLE_JIT:
        assert len(shift.signatures) == 1
