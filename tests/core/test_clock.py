"""The clock of time limits stands still while this process compiles."""

from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numba.core.errors import TypingError
from numba.core.event import Listener, install_listener

from sklearn_probsr.core import jit, options
from sklearn_probsr.core.options import Effort, Task
from tests.interpreted import INTERPRETED


class Slow(Listener):
    """Time in which each kernel takes 1,000 seconds to compile, and nothing else takes any."""

    def __init__(self) -> None:
        self.now, self.compiled = 0.0, 0

    def on_start(self, event) -> None:
        self.now += 1000.0
        self.compiled += 1

    def on_end(self, event) -> None:
        pass


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    listener = Slow()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # where nothing is kept as yet
    monkeypatch.setattr(options, "time", SimpleNamespace(monotonic=lambda: listener.now))
    monkeypatch.setattr(options._Clock, "state", (0.0, None))
    with install_listener("numba:compile", listener):
        yield listener


def kernels():
    @jit.kernel
    def one(x):
        return x + 1

    @jit.kernel
    def other(x):
        return 2 * one(x)

    @jit.kernel
    def wrong(x):
        return x.no_such_thing

    return other, wrong


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_it_stands_still_while_kernels_are_compiled(slow: Slow):
    """Kernels within kernels are not counted twice, and one that fails is not counted either."""
    other, wrong = kernels()
    slow.now = 5.0
    assert options.monotonic() == 5.0
    assert other(3) == 8
    assert slow.compiled == 2
    assert (slow.now, options.monotonic()) == (2005.0, 5.0)
    with pytest.raises(TypingError):
        wrong(3)
    assert (slow.now, options.monotonic()) == (3005.0, 5.0)
    slow.now += 7.0
    assert options.monotonic() == 12.0


def test_within_it_the_clock_shows_when_it_stopped(slow: Slow):
    """Threads that search meanwhile have their time left."""
    with options.standing_still(), options.standing_still():
        slow.now += 9.0
        assert options.monotonic() == 0.0
    slow.now += 1.0
    assert options.monotonic() == 1.0


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_a_task_has_its_time_left_behind_compiling(slow: Slow):
    """A search whose kernels are compiled on its way is as late as one that found them on disk."""
    task = Task(delta=0.9, effort=Effort(prove=True, time_limit=10.0)).timed()
    assert kernels()[0](3) == 8
    assert not task.is_late
    assert task.seconds == 7.5
    slow.now += 7.6
    assert task.is_late
    assert not task.is_over
    slow.now += 2.5
    assert task.is_over
