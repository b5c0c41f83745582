"""Batches: one question asked of many rows, in pieces that jobs can share."""

from __future__ import annotations

import hashlib
import math
import operator
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._functions import answer
from sklearn_probsr.core.answers import of_row
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Options
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.explain.jobs._progress import progress
from sklearn_probsr.explain.jobs._sent_once import shared
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["Question", "check_jobs", "check_seed"]

# Rows that are searched at once: a progress bar moves by so many, and a job of joblib takes them.
_SLOW, _LONG = 64, 4
# Of sparse rows that a law wants filled in, so many numbers at once.
_FILLED = 2**22
# What of a job's answer does not travel: whoever asked has it.
_AT_HOME = ("model", "distribution", "rows")


def check_seed(seed: Any) -> int | None:
    """Return a seed, or say that it is none."""
    try:
        value = None if seed is None else operator.index(seed)
    except TypeError:
        value = -1
    if value is not None and value < 0:
        raise InvalidInputError(f"seed must be None or a whole number >= 0, got {seed!r}.")
    return value


def check_jobs(n_jobs: Any) -> int | None:
    """Return a number of jobs, or say that it is none."""
    try:
        value = None if n_jobs is None else operator.index(n_jobs)
    except TypeError:
        value = 0
    if value == 0 or isinstance(n_jobs, bool):
        raise InvalidInputError(
            f"n_jobs must be None, a whole number >= 1, or -1 for all cores, got {n_jobs!r}."
        )
    return value


@dataclass(frozen=True)
class Question:
    """What is asked of every row; ``options`` are those of `sufficient_reasons`.

    ``token`` stands for model and distribution, where another process has them already. With
    ``flag`` a row that does not reach delta gets its best set, and is flagged.
    """

    law: Law
    method: str
    options: Options
    seed: int | None
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    flag: bool = False

    def answer(self, rows: NDArray[Any], n_jobs: int | None, silent: bool) -> SufficientReasons:
        """Return the reasons of checked rows; the number of jobs changes nothing in them."""
        found = self._answer(rows, n_jobs, silent)
        if found.flagged and not self.flag:
            first = min(found.flagged)
            raise UnreachableError(
                f"{of_row(found.flagged[first][1], first)} With max_size, or with on_error='flag' "
                "in an explainer, you get the best set all the same."
            )
        return found

    def _answer(self, rows: NDArray[Any], n_jobs: int | None, silent: bool) -> SufficientReasons:
        size = self.law.rows_at_once if self.method == "certified" else _SLOW
        if self.options.cost is not None:
            size = min(size, _SLOW)
        if self.options.prove is True:
            size = min(size, _LONG)
        if isinstance(rows, SparseRows) and not self.law.takes_sparse:
            size = max(min(size, _FILLED // rows.width), 1)
        jobs = joblib.effective_n_jobs(n_jobs) if len(rows) > 1 else 1
        if jobs != 1:
            size = max(min(size, math.ceil(len(rows) / jobs)), 1)
        if len(rows) <= size:
            return self.search(rows)
        chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
        found = enumerate(map(self.search, chunks)) if jobs == 1 else self._shared(chunks, n_jobs)
        told = progress(found, len(rows), "SufficientReasonExplainer", silent)
        return SufficientReasons.concatenate([reasons for _, reasons in sorted(told, key=_place)])

    def _shared(
        self, chunks: Sequence[NDArray[Any]], n_jobs: int | None
    ) -> Iterator[tuple[int, SufficientReasons]]:
        """Yield the number and the reasons of every chunk, found by jobs of joblib."""
        pair = (self.law.given, self.law.distribution)
        ask = partial(_search, method=self.method, options=self.options, seed=self.seed)
        for i, found in shared(ask, pair, self.token, chunks, n_jobs, _law):
            home: dict[str, Any] = dict(zip(_AT_HOME, (*pair, chunks[i]), strict=True))
            yield i, SufficientReasons(**home, **found)

    def search(self, rows: NDArray[Any]) -> SufficientReasons:
        """Return the reasons of a few rows, at once."""
        if self.method == "certified" or not len(rows):
            return self._ask(rows, None)
        # A row's samples depend on the seed and the row alone, not on the rows beside it.
        return SufficientReasons.concatenate(
            [self._ask(rows[i : i + 1], self._generator(rows[i])) for i in range(len(rows))]
        )

    def _generator(self, row: NDArray[Any]) -> np.random.Generator:
        if self.seed is None:
            return np.random.default_rng()
        digest = hashlib.blake2b(np.ascontiguousarray(row).tobytes(), digest_size=16).digest()
        return np.random.default_rng([self.seed, int.from_bytes(digest, "big")])

    def _ask(self, rows: NDArray[Any], rng: np.random.Generator | None) -> SufficientReasons:
        return answer(self.law, rows, self.options, self.method, rng, flag=True)


def _law(pair: tuple[Model, Any]) -> Law:
    return law_of(*pair)


def _search(
    law: Law, rows: NDArray[Any], method: str, options: Options, seed: int | None
) -> dict[str, Any]:
    """Return the fields of the reasons that whoever asked has not."""
    found = Question(law, method, options, seed).search(rows)
    return {f.name: getattr(found, f.name) for f in fields(found) if f.name not in _AT_HOME}


def _place(found: tuple[int, SufficientReasons]) -> int:
    """Return which of the batches this is: jobs may be done in any order."""
    return found[0]
