"""Making Python's objects of what kernels return, without running Python on the way.

Where Numba returns an array, it has a Python function look up the array's class, and it makes a
named tuple by calling its class, which is Python too. A signal that came while a kernel ran is
handled there: Ctrl-C raises KeyboardInterrupt amid C code that goes on without asking, and ends as
a SystemError or a TypeError. Without Python the signal is handled behind the kernel, as behind any
other line.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

from numba import types

try:
    from numba.core.boxing import box_array, box_tuple
    from numba.core.pythonapi import _boxers
except ImportError:  # another Numba, which has its own ways
    _boxers = None

__all__ = ["made_in_c"]


def _constant(c: Any, value: Any) -> Any:
    """Return a value that is kept with the kernel: a new reference, as from a pickle."""
    found = c.env_manager.read_const(c.env_manager.add_const(value))
    c.pyapi.incref(found)
    return found


def _array(typ: Any, val: Any, c: Any) -> Any:
    """Make an array as Numba does, of a class that is kept with the kernel."""
    pyapi = copy.copy(c.pyapi)
    pyapi.serialize_object = lambda value: value
    pyapi.unserialize = lambda value: _constant(c, value)
    return box_array(typ, val, c._replace(pyapi=pyapi))


def _named_tuple(typ: Any, val: Any, c: Any) -> Any:
    """Make a named tuple as its class would, which only counts the items."""
    make, kind = _constant(c, tuple.__new__), _constant(c, typ.instance_class)
    items = box_tuple(typ, val, c)
    made = c.pyapi.call_function_objargs(make, (kind, items))
    for used in (make, kind, items):
        c.pyapi.decref(used)
    return made


_BOXES: dict[type, Callable[[Any, Any, Any], Any]] = {
    types.Array: _array,
    types.NamedTuple: _named_tuple,
    types.NamedUniTuple: _named_tuple,
}


@contextlib.contextmanager
def made_in_c() -> Iterator[None]:
    """Have what is compiled meanwhile make its results so, and nobody else's kernels."""
    if _boxers is None:
        yield
        return
    before = {kind: _boxers.functions[kind] for kind in _BOXES}
    _boxers.functions.update(_BOXES)
    try:
        yield
    finally:
        _boxers.functions.update(before)
