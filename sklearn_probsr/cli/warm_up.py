"""Warm-up: compile what explanations need, so that no user waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sklearn_probsr._functions import guarantee, guarantee_curve, sufficient_reasons
from sklearn_probsr.distributions._completions import (
    Background,
    Marginals,
    Matching,
    Product,
    Uniform,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.independent import ranks
from sklearn_probsr.model.argmax import ArgmaxModel
from sklearn_probsr.model.linear import LinearModel
from sklearn_probsr.model.units import Unit

_D = 30
_MATCHING = ("matching rows", "sparse matching rows")
# Here a curve of 5,000 words is as many sums of 10 ms each.
_LONG = "marginals of sparse rows"


def kept_in() -> Path | None:
    """Return where compiled code is kept; None if it is kept nowhere."""
    path = getattr(getattr(ranks.search_rows, "_cache", None), "cache_path", None)
    return None if path is None else Path(path)


def warm_up(say: Callable[[str], None]) -> None:
    """Explain a few rows under every kind of distribution, and say how long each took."""
    place = kept_in()
    if place is None:
        raise InvalidInputError(
            "Compiled code can be kept nowhere: neither the package nor the home nor the temporary "
            "directory can be written to. Set NUMBA_CACHE_DIR to a directory of your own."
        )
    cases = list(_cases())
    for i, (name, model, rows, over) in enumerate(cases):
        start = time.perf_counter()
        sufficient_reasons(model, rows, distribution=over, delta=0.9)
        _ask_for_sizes(name, model, rows[0], over)
        if name not in _MATCHING:  # which knows no costs
            sufficient_reasons(model, rows[:1], distribution=over, delta=0.9, cost={0: 2})
        say(f"{i + 1} of {len(cases)}: {name}, {time.perf_counter() - start:.1f} s")
    if not any(place.glob("*.nbc")):
        raise InvalidInputError(
            f"Nothing could be written to {place}. Set NUMBA_CACHE_DIR to a directory of your own."
        )
    say(f"Compiled code is kept in {place} and beside it.")


def _ask_for_sizes(name: str, model: Any, row: Any, over: Any) -> None:
    """Ask for a curve, or for a few of its sizes where it is long: each needs the same kernels."""
    if name != _LONG:
        guarantee_curve(model, row, distribution=over)
        return
    for size in (0, 1, 40):
        guarantee(model, row, range(size), distribution=over)


def _cases() -> Iterator[tuple[str, Any, Any, Any]]:
    """Return small models and rows that reach the kernels of every distribution."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(_D)
    bits, reals = rng.integers(0, 2, (200, _D)), rng.standard_normal((600, _D))
    units = [Unit.real(f"x{j}", j) for j in range(_D)]
    binary, real = LinearModel(weights, 0.1), LinearModel(weights, 0.1, units=units)
    several = ArgmaxModel(rng.standard_normal((3, _D)), np.zeros(3), units=units)
    few = LinearModel(weights[:12], 0.1)
    yield "uniform completions", binary, bits[:20], Uniform()
    yield "uniform completions of few features", few, bits[:20, :12], Uniform()
    yield "background rows of 0 and 1", binary, bits[:3], Background(bits)
    yield "background rows of numbers", real, reals[:3], Background(reals)
    yield "background rows, several classes", several, reals[:3], Background(reals)
    yield "given marginals", binary, bits[:20], Product(np.round(rng.uniform(0.1, 0.9, _D), 2))
    yield "marginals of few rows", real, reals[:3], Marginals.fit(reals[:50])
    yield "marginals of many rows", real, reals[:3], Marginals.fit(reals)
    yield "marginals, several classes", several, reals[:3], Marginals.fit(reals[:50])
    flags = ArgmaxModel(rng.standard_normal((3, _D)), np.zeros(3))
    yield "uniform completions, several classes", flags, bits[:3], Uniform()
    words = sparse.random(400, 5_000, 0.01, format="csr", random_state=0).sign()
    wordy = LinearModel(rng.standard_normal(5_000), 0.1)
    yield "sparse background rows", wordy, words[:3], Background(words)
    texts = ArgmaxModel(rng.standard_normal((3, 5_000)), np.zeros(3))
    yield "sparse background rows, several classes", texts, words[:3], Background(words)
    yield _LONG, wordy, words[:3], Marginals.fit(words)
    yield _MATCHING[0], binary, bits[:3], Matching(bits, min_rows=5)
    yield _MATCHING[1], wordy, words[:3], Matching(words, min_rows=5)
