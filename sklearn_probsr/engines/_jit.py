"""The decorators of every compiled function, and where compiled code is kept."""

from __future__ import annotations

import functools
import inspect
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types

from sklearn_probsr.engines._one_compiler import one_at_a_time

__all__ = ["inlined", "inner", "kernel", "strict_inner", "strict_kernel"]

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reordered and multiply-adds fused (the error bounds hold for any order); NaN and
# infinity keep their meaning.
_OPTIONS = {
    "nogil": True,
    "no_cfunc_wrapper": True,
    "fastmath": {"reassoc", "contract", "nsz"},
    "error_model": "numpy",
}
# Every operation is rounded by itself, in the order that is written down: what error-free
# transformations need. It is said by name, as a function that names no flags takes its caller's.
_STRICT = {**_OPTIONS, "fastmath": False}


def kernel(function: F) -> F:
    """Compile a function: cached on disk if possible, without the GIL, sums in any order.

    Numba keeps compiled code beside the module or below the user's home. Where it cannot write to
    the one, and the other is not this user's alone, a temporary directory that is takes it, and
    else memory. ``NUMBA_CACHE_DIR`` is taken as it is.
    """
    return _kept(function, _OPTIONS)


def strict_kernel(function: F) -> F:
    """Compile a function as `kernel` does, with every float operation as it is written."""
    return _kept(function, _STRICT)


def _kept(function: F, options: dict[str, Any]) -> F:
    compiled: F | None = _on_disk(function, options)
    if compiled is None:
        compiled = _elsewhere(function, options)
    one_at_a_time(compiled, _temporary)
    return _of_any_number(compiled)


def inner(function: F) -> F:
    """Compile a function that only compiled functions call: no door to Python is built."""
    compiled: F = numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function)
    return _of_any_number(compiled)


def inlined(function: F) -> F:
    """Compile a function into those that call it: a step of their loops costs no call."""
    compiled: F = numba.njit(inline="always", no_cpython_wrapper=True, **_OPTIONS)(function)
    return compiled


def strict_inner(function: F) -> F:
    """Compile a function that only strict kernels call."""
    compiled: F = numba.njit(no_cpython_wrapper=True, **_STRICT)(function)
    return _of_any_number(compiled)


def _of_any_number(compiled: F) -> F:
    """Let compiled functions call one with a number that is written down as with any other.

    Numba would compile it anew for each such number, and for a variable once more before it knows
    that its first value, 0 say, is not its only one.
    """
    plain = getattr(compiled, "get_call_template", None)
    if plain is not None:  # it is compiled at all

        def get_call_template(args: Any, kws: Any) -> Any:
            return plain(
                tuple(types.unliteral(arg) for arg in args),
                {name: types.unliteral(arg) for name, arg in kws.items()},
            )

        compiled.get_call_template = get_call_template  # type: ignore[attr-defined]
    return compiled


def _on_disk(function: Any, options: dict[str, Any]) -> Any:
    """Compile a function where Numba finds a place to keep it; None if that is not to be read."""
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no place that can be written to
        return None
    folder = getattr(getattr(compiled, "_cache", None), "cache_path", None)
    if folder is None or numba.config.CACHE_DIR:  # not compiled at all, or told by the user, or us
        return compiled
    beside = os.path.join(os.path.dirname(inspect.getfile(function)), "__pycache__")
    return compiled if folder == beside or _is_ours(Path(folder)) else None


def _elsewhere(function: Any, options: dict[str, Any]) -> Any:
    """Compile a function that Numba finds no place for."""
    place = _temporary()
    if place is not None:
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, place
        try:
            compiled = _on_disk(function, options)
        finally:
            numba.config.CACHE_DIR = before
        # It is elsewhere if the module is in an archive.
        if compiled is not None and Path(place) in Path(compiled._cache.cache_path).parents:
            return compiled
    _warn()
    return numba.njit(**options)(function)


@functools.cache
def _warn() -> None:
    """Say once that nothing is kept."""
    warnings.warn(
        "compiled code cannot be kept: neither the package nor the home nor the temporary "
        "directory is a place where this user, and nobody else, can write. Every process compiles "
        "anew, which takes seconds. Set NUMBA_CACHE_DIR to a directory of your own.",
        RuntimeWarning,
        stacklevel=2,
    )


@functools.cache
def _temporary() -> str | None:
    """Return a temporary directory where this user alone can write; None if there is none.

    It is one for each user, so that processes share it. Its name is no secret; what counts is who
    made it.
    """
    if sys.platform == "win32":
        return None
    try:
        path = Path(tempfile.gettempdir()).resolve() / f"sklearn-probsr-{os.geteuid()}"
        path.mkdir(mode=0o700, exist_ok=True)
        return str(path) if _is_ours(path) else None
    except OSError:
        return None


def _is_ours(path: Path) -> bool:
    """Whether this user alone can write to a directory, or put another one in its place.

    Compiled code is kept in pickles, which are code: whoever can write there can run what they like
    as this user.
    """
    if sys.platform == "win32":  # homes are closed there, and there is no sign of it to look at
        return True
    user = os.geteuid()
    try:
        own = path.lstat()
        above = [one.stat() for one in {*path.parents, *path.resolve().parents}]
    except OSError:
        return False
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != user or own.st_mode & 0o022:
        return False
    return all(
        # In a sticky directory, as /tmp is, an entry can be replaced by its owner alone.
        one.st_uid in {0, user} and (not one.st_mode & 0o022 or one.st_mode & stat.S_ISVTX)
        for one in above
    )
