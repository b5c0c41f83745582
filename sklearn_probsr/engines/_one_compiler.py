"""One compiler at a time: processes of one user wait for each other, and load what one compiled."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # elsewhere than on POSIX every process compiles for itself
    fcntl = None  # type: ignore[assignment]

from numba.core.compiler_lock import global_compiler_lock

from sklearn_probsr.engines._boxes import made_in_c
from sklearn_probsr.engines._clock import standing_still
from sklearn_probsr.engines._held_signals import handle_signals, signals_held
from sklearn_probsr.engines._kept_code import Looking

__all__ = ["one_at_a_time"]

# Who has waited for so many seconds compiles all the same.
_PATIENCE, _PAUSE = 300.0, 0.02


class _Lock:
    """A lock among processes, held from the first kernel that is compiled until that is kept.

    A kernel may compile others on its way, so it is counted how often it was taken. Numba itself
    lets one thread compile at a time. A process that ends lets go of it, however it ends.
    """

    def __init__(self) -> None:
        self.depth = 0
        self._file: int | None = None

    def take(self, place: Callable[[], str | None]) -> None:
        """Wait until no other process compiles; go on without a lock where there can be none."""
        self.depth += 1
        if self.depth > 1 or fcntl is None:
            return
        folder = place()
        if folder is None:
            return
        try:
            self._file = os.open(Path(folder) / "compiling.lock", os.O_RDWR | os.O_CREAT, 0o600)
            self._wait(self._file)
        except OSError:  # a file system without locks
            self._close()

    @staticmethod
    def _wait(file: int) -> None:
        last = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > last:
                    return
                time.sleep(_PAUSE)
                handle_signals()
            else:
                return

    def give_back(self, depth: int) -> None:
        """Undo what was taken beyond a depth."""
        self.depth = depth
        if depth == 0:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)  # which unlocks it
            self._file = None


_LOCK = _Lock()


@contextlib.contextmanager
def _given_back() -> Iterator[None]:
    """Give the lock back, if it is taken meanwhile, whatever happens."""
    before = _LOCK.depth
    try:
        yield
    finally:
        _LOCK.give_back(before)


@contextlib.contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Let Python's garbage collector rest, if it was at work.

    Compiling makes millions of objects that live until it ends; going through them over and over
    is an eighth of the time that it takes.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def one_at_a_time(dispatcher: Any, place: Callable[[], str | None]) -> Any:
    """Return a kernel that is compiled by one process at a time, if Numba lets us see to that.

    Parameters
    ----------
    dispatcher : Numba's dispatcher
        Of a kernel that is kept on disk.
    place : callable
        Returns a folder for the lock; None if there is none.
    """
    cache = getattr(dispatcher, "_cache", None)
    if not hasattr(cache, "load_overload"):  # not compiled at all, or another Numba
        return dispatcher
    plain = dispatcher.compile

    def compile(sig: Any) -> Any:
        # Numba takes its lock as well; what is changed here while a kernel is compiled is for all.
        with (
            global_compiler_lock, signals_held(), standing_still(), made_in_c(),
            _collector_at_rest(), _given_back(),
        ):  # fmt: skip
            return plain(sig)

    looking = Looking(dispatcher, cache, lambda: _LOCK.take(place))
    dispatcher._cache, dispatcher.compile = looking, compile
    return dispatcher
