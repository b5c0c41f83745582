"""What was worked out once and is kept, within limits: for one law, and for the laws in use."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Memo"]

T = TypeVar("T")


class Memo(Generic[T]):
    """The values used last, by key; the least recently used are dropped beyond a limit.

    It may be asked from several threads. A value is made outside the lock, so two threads that
    ask for the same at once may both make it; one of the two is kept.

    Parameters
    ----------
    limit : int
        How much the values may take together. The last one is kept even if it takes more.
    size : callable or None, default=None
        How much a value takes, asked anew whenever something is added, since tables grow with
        use. None: every value takes 1.
    """

    def __init__(self, limit: int, size: Callable[[T], int] | None = None) -> None:
        self._limit, self._size = limit, size
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is known for a key, or make it now and keep it."""
        with self._lock:
            try:
                self._values.move_to_end(key)
            except KeyError:
                pass
            else:
                return self._values[key]
        value = make()
        with self._lock:
            value = self._values.setdefault(key, value)
            self._values.move_to_end(key)
            self._trim()
        return value

    def _trim(self) -> None:
        if self._size is None:
            taken = len(self._values)
        else:
            taken = sum(map(self._size, self._values.values()))
        while taken > self._limit and len(self._values) > 1:
            _, dropped = self._values.popitem(last=False)
            taken -= 1 if self._size is None else self._size(dropped)

    def values(self) -> list[T]:
        """Return what is kept."""
        with self._lock:
            return list(self._values.values())

    def __len__(self) -> int:
        return len(self._values)

    def __reduce__(self) -> tuple[type[Memo[T]], tuple[int, Callable[[T], int] | None]]:
        return Memo, (self._limit, self._size)  # what was kept is not pickled
