"""A clock that stands still while this process compiles: time limits are for searching."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

__all__ = ["monotonic", "standing_still"]


class _Clock:
    """How long it stood so far, and since when it stands; one value, so that threads read both."""

    state: tuple[float, float | None] = (0.0, None)


def monotonic() -> float:
    """Return seconds as ``time.monotonic`` does, but for those in which kernels were compiled.

    Whether a kernel was compiled before, by whoever, thus changes nothing about what is found
    within a time limit.
    """
    stood, since = _Clock.state
    return (time.monotonic() if since is None else since) - stood


@contextlib.contextmanager
def standing_still() -> Iterator[None]:
    """Stop the clock; only one thread at a time may, that which compiles."""
    stood, since = _Clock.state
    if since is not None:  # a kernel that another one calls
        yield
        return
    since = time.monotonic()
    _Clock.state = stood, since
    try:
        yield
    finally:
        _Clock.state = stood + time.monotonic() - since, None
