"""Batches: one question asked of many rows, in pieces that jobs can share."""

from __future__ import annotations

import hashlib
import math
import operator
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._functions import answer
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.laws._law import Law
from sklearn_probsr.results._reason import SufficientReasons
from sklearn_probsr.search._arguments import Options

__all__ = ["Question", "check_seed"]

# Rows that are searched at once: a progress bar moves by so many, and a job of joblib takes them.
_SLOW, _LONG = 64, 4
# In a job's process: the last question, with the tables that its model has built.
_KEPT: dict[str, Question] = {}


def check_seed(seed: Any) -> int | None:
    """Return a seed, or say that it is none."""
    try:
        value = None if seed is None else operator.index(seed)
    except TypeError:
        value = -1
    if value is not None and value < 0:
        raise InvalidInputError(f"seed must be None or a whole number >= 0, got {seed!r}.")
    return value


@dataclass(frozen=True)
class Question:
    """What is asked of every row; ``options`` are those of `sufficient_reasons`."""

    law: Law
    method: str
    options: Options
    seed: int | None
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    def answer(self, rows: NDArray[Any], n_jobs: int | None, silent: bool) -> SufficientReasons:
        """Return the reasons of checked rows; the number of jobs changes nothing in them."""
        size = self.law.rows_at_once if self.method == "certified" else _SLOW
        if self.options.prove is True:
            size = min(size, _LONG)
        jobs = 1 if n_jobs is None else n_jobs
        if jobs != 1:
            size = max(min(size, math.ceil(len(rows) / joblib.effective_n_jobs(jobs))), 1)
        if len(rows) <= size:
            return self.search(rows)
        chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
        joined = SufficientReasons.concatenate(self._found(chunks, jobs, silent))
        return replace(joined, model=self.law.model, distribution=self.law.distribution)

    def _found(self, chunks: Sequence[Any], jobs: int, silent: bool) -> list[SufficientReasons]:
        from shap.utils import show_progress

        if jobs == 1:
            found: Iterable[SufficientReasons] = map(self.search, chunks)
        else:
            parallel = joblib.Parallel(n_jobs=jobs, return_as="generator")
            found = parallel(joblib.delayed(_search)(self, chunk) for chunk in chunks)
        name = "SufficientReasonExplainer"
        return list(show_progress(found, total=len(chunks), desc=name, silent=silent))

    def search(self, rows: NDArray[Any]) -> SufficientReasons:
        """Return the reasons of a few rows, at once."""
        if self.method == "certified" or not len(rows):
            return self._ask(rows, None)
        # A row's samples depend on the seed and the row alone, not on the rows beside it.
        return SufficientReasons.concatenate(
            [self._ask(row[None, :], self._generator(row)) for row in rows]
        )

    def _generator(self, row: NDArray[Any]) -> np.random.Generator:
        if self.seed is None:
            return np.random.default_rng()
        digest = hashlib.blake2b(np.ascontiguousarray(row).tobytes(), digest_size=16).digest()
        return np.random.default_rng([self.seed, int.from_bytes(digest, "big")])

    def _ask(self, rows: NDArray[Any], rng: np.random.Generator | None) -> SufficientReasons:
        return answer(self.law, rows, self.options, self.method, rng)


def _search(question: Question, rows: NDArray[Any]) -> SufficientReasons:
    """Search in a job: what an earlier one of the same process has built is used again."""
    kept = _KEPT.get(question.token)
    if kept is None:
        _KEPT.clear()
        kept = _KEPT[question.token] = question
    return kept.search(rows)
