"""Strict kernels: every operation as it is written, whoever asks for them first."""

from typing import Any

import numba
import pytest

from sklearn_probsr.core import jit
from tests.core.every_kernel import kernels
from tests.interpreted import INTERPRETED

compiled_only = pytest.mark.skipif(INTERPRETED, reason="flags are for compiled code")


def missing(a: float, b: float) -> float:
    """Return what is missing in a rounded sum (Knuth): 0, if sums may be reordered."""
    total = a + b
    virtual = total - a
    return (a - (total - virtual)) + (b - virtual)


def behind(error: Any) -> Any:
    """Return a fast kernel that calls another one."""

    @jit.kernel
    def fast(a, b):
        return error(a, b)

    return fast


@compiled_only
def test_strict_kernels_are_strict_where_a_fast_one_calls_them_first():
    """Each with the options that it is compiled with, and behind a caller that may reorder."""
    found: dict[str, list[Any]] = {}
    for one in kernels():
        if not one.targetoptions.get("fastmath"):
            found.setdefault(repr(sorted(one.targetoptions.items(), key=str)), []).append(one)
    assert sum(len(group) for group in found.values()) >= 9
    for group in found.values():
        error = numba.jit(**group[0].targetoptions)(missing)
        assert behind(error)(1.0, 1e-20) == 1e-20, [one.__name__ for one in group]
        assert len(error.signatures) == 1


def test_a_fast_kernel_reorders():
    """What is tested above can be told apart: the same sum in a fast kernel misses nothing."""
    fast = jit.kernel(missing)
    assert fast(1.0, 1e-20) == (1e-20 if INTERPRETED else 0.0)
