"""The decorators of every compiled function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["inner", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reordered and multiply-adds fused (the error bounds hold for any order); NaN and
# infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}


def kernel(function: F) -> F:
    """Compile a function: cached on disk, without the GIL, sums in any order."""
    compiled: F = numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")(function)
    return compiled


def inner(function: F) -> F:
    """Compile a function that only compiled functions call: no door to Python is built."""
    compiled: F = numba.njit(
        nogil=True,
        fastmath=_FAST,
        error_model="numpy",
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function)
    return compiled
