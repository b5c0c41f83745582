"""A progress bar over batches of rows, on work that lasts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

__all__ = ["progress"]

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
