"""Jobs: many rows in pieces, which processes and machines can share, and a bar over them.

Checked rows come in, `SufficientReasons` go out, the same for any number of jobs. What all jobs
need, a model and its distribution, goes to each process once.
"""

from __future__ import annotations

import gc
import hashlib
import math
import operator
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from sklearn_probsr._functions import answer
from sklearn_probsr.core.answers import of_row
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Options
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.results._reasons import SufficientReasons

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


# --- one thing for all jobs ------------------------------------------------------------------

# So many pieces for each job are read at once.
_WINDOW = 4
# In a job's process: the last thing, by its token, with what was built for it.
_KEPT: dict[str, Any] = {}


def shared(
    ask: Callable[[Any, Any], Any],
    thing: Any,
    token: str,
    pieces: Sequence[Any],
    n_jobs: int | None,
    opened: Callable[[Any], Any] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield the number of every piece and what it was answered, by the jobs of joblib.

    Parameters
    ----------
    ask : callable
        Takes the thing and a piece.
    thing : object
    token : str
        Stands for the thing, where a process has it already.
    pieces : sequence
    n_jobs : int or None
    opened : callable or None, default=None
        What makes the thing that is asked of the one that is sent.
    """
    with _parallel(n_jobs) as (parallel, jobs):
        yield from _turns(parallel, jobs, ask, thing, token, pieces, opened)


def in_windows(
    ask: Callable[[Any, Any], Any],
    thing: Any,
    token: str,
    pieces: Iterable[Any],
    n_jobs: int | None,
) -> Iterator[Any]:
    """Yield what each of many pieces is answered, in their order; a few are held at a time."""
    jobs = joblib.effective_n_jobs(n_jobs)
    if jobs == 1:
        yield from map(partial(ask, thing), pieces)
        return
    rest = iter(pieces)
    with _parallel(n_jobs) as (parallel, jobs):
        while window := list(islice(rest, _WINDOW * jobs)):
            early: dict[int, Any] = {}
            following = 0
            for i, answer in _turns(parallel, jobs, ask, thing, token, window):
                early[i] = answer
                while following in early:
                    yield early.pop(following)
                    following += 1


@contextmanager
def _parallel(n_jobs: int | None) -> Iterator[tuple[joblib.Parallel, int]]:
    """Open the jobs of whichever backend is active."""
    backend, _ = get_active_backend()
    how = "generator" if backend.supports_return_generator else "list"
    with joblib.Parallel(n_jobs=n_jobs, return_as=how, batch_size=1) as parallel:
        yield parallel, joblib.effective_n_jobs(n_jobs)


def _turns(
    parallel: joblib.Parallel,
    jobs: int,
    ask: Callable[[Any, Any], Any],
    thing: Any,
    token: str,
    pieces: Sequence[Any],
    opened: Callable[[Any], Any] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield what jobs answer, which may be on other machines.

    The thing goes along with as many pieces as there are jobs, and a process keeps it. One that got
    none of these hands its pieces back, and they are sent once more: every turn answers at least
    the pieces that bring it. Threads have it at hand.
    """
    if getattr(get_active_backend()[0], "supports_sharedmem", False):
        own = thing if opened is None else opened(thing)
        with _read(parallel, (joblib.delayed(ask)(own, piece) for piece in pieces)) as answers:
            yield from enumerate(answers)
        return
    waiting = list(range(len(pieces)))
    while waiting:
        turn, waiting = waiting, []
        calls = (
            joblib.delayed(_answer)(ask, token, (thing,) if k < jobs else (), opened, pieces[i])
            for k, i in enumerate(turn)
        )
        with _read(parallel, calls) as answers:
            for i, answer in zip(turn, answers, strict=True):
                if answer is None:
                    waiting.append(i)
                else:
                    yield i, answer


@contextmanager
def _read(parallel: joblib.Parallel, calls: Iterable[Any]) -> Iterator[Iterable[Any]]:
    """Start calls, and stop what is left of them when nobody reads on."""
    answers = parallel(calls)
    try:
        yield answers
    finally:
        if isinstance(answers, Generator):
            answers.close()


def _answer(
    ask: Callable[[Any, Any], Any],
    token: str,
    sent: tuple[Any, ...],
    opened: Callable[[Any], Any] | None,
    piece: Any,
) -> Any:
    """Answer in a job, with what an earlier one of the same process has built.

    None if this process has not the thing of that token.
    """
    kept = _KEPT.get(token)
    if kept is None:
        if not sent:
            return None
        kept = sent[0] if opened is None else opened(sent[0])
        _KEPT.clear()
        _KEPT[token] = kept
        # Loky collects garbage every second where psutil is missing, and would go through all that
        # was imported each time: a fifth of a job's time.
        gc.collect()
        gc.freeze()
    return ask(kept, piece)


# --- a bar -----------------------------------------------------------------------------------

# Seconds before a bar appears, as in shap.
_DELAY = 10.0

Batch = TypeVar("Batch", bound=Sized)


def progress(
    parts: Iterable[tuple[int, Batch]], total: int, desc: str, silent: bool
) -> Iterator[tuple[int, Batch]]:
    """Yield numbered batches, and count their rows in a bar once they are there.

    (shap's bar counts what is asked for, not what is there: it ends before the work does, and
    counts one too many.)

    Parameters
    ----------
    parts : iterable of pairs of a number and a batch
    total : int
        How many rows the batches have together.
    desc : str
        What stands before the bar.
    silent : bool
        Whether to show none.
    """
    if silent:
        yield from parts
        return
    start, done = time.monotonic(), 0
    bar: Any = None
    try:
        for number, batch in parts:
            done += len(batch)
            if bar is None and done < total and time.monotonic() - start > _DELAY:
                from tqdm import tqdm

                bar = tqdm(total=total, desc=desc, unit="row", initial=done)
                bar.start_t -= time.monotonic() - start  # so that the rate is that of the work
            elif bar is not None:
                bar.update(len(batch))
            yield number, batch
    finally:
        if bar is not None:
            bar.close()
