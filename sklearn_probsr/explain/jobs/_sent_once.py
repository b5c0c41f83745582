"""Sent once: jobs of joblib that all need one thing get it once for each process."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import joblib
from joblib.parallel import get_active_backend

__all__ = ["in_windows", "shared"]

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
