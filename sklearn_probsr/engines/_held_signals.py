"""Signals that come while this process compiles or loads a kernel: they are handled a little later.

LLVM calls Python on its way, and what that raises is ignored: Ctrl-C would be lost, or LLVM would
lack what it asked for.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from numba.core.event import Listener, install_listener

__all__ = ["handle_signals", "signals_held"]


class _Held:
    """The signals that came, with the handlers that are meant for them, and whether more do."""

    now = False
    came: list[tuple[Any, int, Any]] = []  # noqa: RUF012


def handle_signals() -> None:
    """Handle the signals that came up to now, in the thread in which Python does."""
    if threading.current_thread() is threading.main_thread():
        came, _Held.came = _Held.came, []
        for handler, number, frame in came:
            handler(number, frame)


class _BeforeEach(Listener):  # type: ignore[misc]
    """Handles signals before each function that a kernel is made of, which take a second or so."""

    def on_start(self, event: Any) -> None:
        handle_signals()

    def on_end(self, event: Any) -> None:
        """Do nothing: what was compiled has still to be added."""


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Hold back what Python would call for signals."""
    if _Held.now or threading.current_thread() is not threading.main_thread():
        yield
        return
    known = {int(number): signal.getsignal(number) for number in signal.valid_signals()}
    handlers = {number: handler for number, handler in known.items() if callable(handler)}

    def hold(number: int, frame: Any) -> None:
        if _Held.now:
            _Held.came.append((handlers[number], number, frame))
        else:  # one came while they were put back
            handlers[number](number, frame)

    try:
        _Held.now = True
        _set(dict.fromkeys(handlers, hold))
        with install_listener("numba:compile", _BeforeEach()):
            yield
    finally:
        _Held.now = False
        _set(handlers)
        handle_signals()


def _set(handlers: Mapping[int, Any]) -> None:
    """Set the handlers of some signals."""
    with contextlib.suppress(ValueError):  # Python is not the main program here
        for number, handler in handlers.items():
            signal.signal(number, handler)
