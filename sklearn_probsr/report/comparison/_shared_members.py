"""What all minimum reasons of each row share, as a comparison has it: codes, counts and words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.questions._alternatives import Alternatives
from sklearn_probsr.questions._shared_words import shared_words
from sklearn_probsr.report.comparison._compared import Compared
from sklearn_probsr.report.comparison._wide_tables import Wide
from sklearn_probsr.results._inert_text import visible
from sklearn_probsr.results._listed import count

__all__ = ["COUNTS", "codes_of", "columns_of", "open_counts", "roles"]

# What a feature is in a row; the codes of what is true of it are added up.
SOME, EVERY, OPEN = 1, 2, 4
COUNTS = ("n_necessary", "n_possible")


def codes_of(each: Iterable[Alternatives | None], width: int) -> Wide:
    """Return what each feature is in each row: in some minimum reason, in every one, undecided."""
    told: list[dict[int, int]] = []
    for one in each:
        codes: dict[int, int] = {}
        if one is not None:
            for features, bit in (
                (one.possible, SOME),
                (one.necessary, EVERY),
                (one.undecided, OPEN),
            ):
                codes |= {u: codes.get(u, 0) | bit for u in features}
        told.append(codes)
    values = np.array([code for codes in told for code in codes.values()], dtype=np.int8)
    places = FeatureSets.of_lists([list(codes) for codes in told], width)
    nothing = np.zeros((1, width), dtype=np.int8)
    return Wide(nothing, np.zeros(len(told), dtype=np.intp), places, values)


def columns_of(
    each: Sequence[Alternatives | None], names: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Return how many features are in every minimum reason, in some, and which stay undecided.

    A count is NaN where undecided features might add to it, and where nothing is said of a row.
    """
    found: dict[str, NDArray[Any]] = {}
    for name in COUNTS:
        counts = [None if one is None else getattr(one, name) for one in each]
        gaps = any(count is None for count in counts)
        found[name] = np.array(counts, dtype=np.float64 if gaps else np.int64)
    undecided = np.empty(len(each), dtype=object)
    undecided[:] = [() if one is None else tuple(names[u] for u in one.undecided) for one in each]
    return found | {"undecided": undecided}


def open_counts(table: dict[str, NDArray[Any]], status: NDArray[Any]) -> dict[str, str]:
    """Say in how many rows that are not flagged a count stays open."""
    told, fine = {}, status == "ok"
    for name in COUNTS:
        n = int(np.count_nonzero(np.isnan(table[name][fine])))
        if n:
            told[name] = f"in {n:,} of {count(len(fine), 'row')} it stays undecided."
    return told


def roles(
    comparison: Compared,
    order: NDArray[np.intp],
    listed: NDArray[np.bool_],
    status: Sequence[str],
) -> list[dict[str, Any]]:
    """Return of each row what its minimum reasons share: in words, and as codes of what is listed.

    Features come in an order, of which some are ``listed``. Nothing is told of rows that are
    flagged, and of none if nobody asked.
    """
    if comparison.shared is None:
        return [{}] * len(status)
    table, names = comparison.table, comparison.feature_names
    codes = np.take_along_axis(comparison.shared, order, axis=1)
    found = []
    for i, size in enumerate(table["reason_size"].tolist()):
        every, some, undecided = (
            np.flatnonzero(comparison.shared[i] & bit).tolist() for bit in (EVERY, SOME, OPEN)
        )
        proved = table["minimality"][i] == "minimum"
        words = shared_words(
            names, int(size), (every, some, undecided) if proved else None, comparison.scope
        )
        told = {"roles": codes[i, listed[i]].tolist(), "shared": visible(words)}
        found.append(told if status[i] == "ok" else {})
    return found
