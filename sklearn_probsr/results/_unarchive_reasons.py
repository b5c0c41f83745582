"""Reading the reasons of an archive: columns and texts that can be, or what is wrong with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import ENDS, FeatureSets
from sklearn_probsr.distributions._completions import (
    Distribution,
)
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.results._checked_json import (
    UnsoundError,
    cells,
    flag,
    flat,
    fraction,
    members,
    number,
    one_of,
    shown,
    text,
    whole,
)
from sklearn_probsr.results._reason import STATUSES
from sklearn_probsr.results._reasons import COLUMNS, SufficientReasons
from sklearn_probsr.results._sentence import CLAIMS
from sklearn_probsr.results._told_categories import read_categories
from sklearn_probsr.results._told_costs import read_costs
from sklearn_probsr.results._told_spelling import read_spelling

__all__ = ["Arrays", "checked_reasons"]
_METHODS = ("certified", "monte-carlo", "paper")

Arrays = dict[str, Any]


def checked_reasons(model: Model, law: Distribution, held: Arrays, told: Any) -> SufficientReasons:
    """Return reasons, or say which column or text of theirs cannot be."""
    known = (
        "delta",
        "confidence",
        "method",
        "forced",
        "barred",
        "max_size",
        "only",
        "words",
        "exact",
        "flagged",
        "shown",
        "of_texts",
    )
    more = {
        name: told.pop(name, None)
        for name in ("costs", "categories", "spelling")
        if isinstance(told, dict)
    }
    told = members(told, "meta.reasons", known)
    columns: dict[str, Any] = {name: held[f"reasons/{name}"] for name in COLUMNS}
    width = held["more/data"].shape[1]
    if width != model.n_units:
        raise UnsoundError(f"more/data must have {model.n_units} columns, got {width}")
    sets = _sets(held["reasons/features"], held["reasons/indptr"], width)
    for name in ("reasons/rows", "more/data"):
        if isinstance(held[name], SparseRows) and not model.takes_sparse:
            raise UnsoundError(f"{name} must not be sparse: a feature of the model has states")
    if isinstance(columns["rows"], SparseRows):
        columns["rows"] = model.check_sparse(columns["rows"], "reasons/rows")
    else:
        columns["rows"] = model.check_values(columns["rows"], "reasons/rows")
    flagged = _flagged(told["flagged"], len(sets))
    invalid = np.zeros(len(sets), dtype=np.bool_)
    invalid[[i for i, (status, _) in flagged.items() if status == "invalid"]] = True
    _check_columns(columns, sets, invalid)
    forced, barred = (
        tuple(
            whole(unit, f"meta.reasons.{name}", 0, width - 1)
            for unit in flat(told[name], f"meta.reasons.{name}", (None,))
        )
        for name in ("forced", "barred")
    )
    most = told["max_size"]
    if most is not None and (sets.sizes > whole(most, "meta.reasons.max_size", 0)).any():
        raise UnsoundError("meta.reasons.max_size must not be less than a reason has features")
    if np.isin(sets.features, barred).any():
        raise UnsoundError("meta.reasons.barred must name features that no reason has")
    valid = sets.take(np.flatnonzero(~invalid))
    if len(set(forced)) < len(forced) or any(told[: len(forced)] != forced for told in valid):
        raise UnsoundError(
            "meta.reasons.forced must name different features, the first of every reason"
        )
    only = tuple(
        one_of(word, "meta.reasons.only", ("present", "supporting"))
        for word in flat(told["only"], "meta.reasons.only", (None,))
    )
    prices, least = read_costs(more["costs"], model.unit_names, len(sets))
    return SufficientReasons(
        model=model,
        distribution=law,
        delta=number(told["delta"], "meta.reasons.delta", 0, 1),
        confidence=number(told["confidence"], "meta.reasons.confidence", 0, 1),
        method=one_of(told["method"], "meta.reasons.method", _METHODS),
        forced=forced,
        barred=barred,
        max_size=most,
        exact=_exact(told["exact"], columns),
        flagged=flagged,
        only=only,
        words=_words(told["words"], len(sets), width),
        spelling=read_spelling(more["spelling"], width),
        of_texts=flag(told["of_texts"], "meta.reasons.of_texts"),
        shown=_shown(told["shown"], held["more/data"], (len(sets), width)),
        sets=sets,
        reader=read_categories(more["categories"], model),
        prices=prices,
        least_cost=least,
        **columns,
    )


def _shown(told: Any, data: Any, shape: tuple[int, int]) -> Any:
    """Return what a person reads; of sparse rows it is the data, if anything."""
    if told is None:
        return None
    if isinstance(data, SparseRows):
        one_of(told, "meta.reasons.shown", ("data",))
        return data
    return cells(told, "meta.reasons.shown", shape)


def _sets(features: NDArray[np.int64], indptr: NDArray[np.int64], width: int) -> FeatureSets:
    """Return the sets of features, each different ones that there are."""
    rises = (indptr[1:] >= indptr[:-1]).all()
    if not (rises and indptr[0] == 0 and indptr[-1] == len(features)):
        raise UnsoundError(
            "reasons/indptr must rise from 0 to how many numbers reasons/features has"
        )
    if not ((features >= 0) & (features < width)).all():
        raise UnsoundError(f"reasons/features must hold whole numbers from 0 to {width - 1}")
    sets = FeatureSets(features.astype(np.int32), indptr, width)
    places = np.repeat(np.arange(len(sets)), sets.sizes) * width + features
    if len(np.unique(places)) < len(places):
        raise UnsoundError("reasons/features must name each feature of a reason once")
    return sets


def _check_columns(columns: Arrays, found: FeatureSets, invalid: NDArray[np.bool_]) -> None:
    """Refuse numbers that no reason has; of an invalid row nothing is proved."""
    lower, upper, epsilon = columns["lower"], columns["upper"], columns["epsilon"]
    sizes, samples, proved = columns["size_lower"], columns["samples"], columns["minimality"]
    words = invalid & (proved == "")
    for word in CLAIMS:
        words |= ~invalid & (proved == word)
    ends = np.isin(columns["stopped"], ("", *ENDS))
    nothing, width = (lower == 0) & (upper == 1) & (found.sizes == 0), found.width
    for name, sound, kind in (
        ("lower", (lower >= 0) & (lower <= 1), "numbers from 0 to 1"),
        ("upper", (upper >= lower) & (upper <= 1), "numbers from reasons/lower to 1"),
        ("epsilon", (epsilon >= 0) & (epsilon <= 1), "numbers from 0 to 1"),
        ("size_lower", (sizes >= 0) & (sizes <= width), f"whole numbers from 0 to {width}"),
        ("samples", samples >= 0, "whole numbers from 0 on"),
        ("minimality", words, "what can be proved"),
        ("stopped", ends, "how a proof can end"),
        ("lower", ~invalid | nothing, "the bounds of nothing where a row is invalid"),
    ):
        if not sound.all():
            row = int(np.flatnonzero(~sound)[0])
            got = columns[name][row : row + 1].astype(object)[0]
            raise UnsoundError(f"reasons/{name} must hold {kind}, got {shown(got)} in row {row}")


def _row(key: str, name: str, n: int) -> int:
    """Return the row that a member is named by."""
    if not (key.isascii() and key.isdigit() and len(key) < 19 and str(int(key)) == key):
        raise UnsoundError(f"{name} must be named by a row")
    return whole(int(key), f"the row of {name}", 0, n - 1)


def _flagged(told: Any, n: int) -> dict[int, tuple[str, str]]:
    if not isinstance(told, dict):
        raise UnsoundError(f"meta.reasons.flagged must be an object, got {shown(told)}")
    found = {}
    for key, value in told.items():
        name = f"meta.reasons.flagged[{shown(key)}]"
        status, message = flat(value, name, (2,))
        i = _row(key, name, n)
        found[i] = (one_of(status, name, STATUSES[1:]), text(message, name))
    return found


def _words(told: Any, n: int, width: int) -> dict[int, dict[int, tuple[str, ...]]]:
    name = "meta.reasons.words"
    if not isinstance(told, dict) or not all(isinstance(v, dict) for v in told.values()):
        raise UnsoundError(f"{name} must be an object of objects, got {shown(told)}")
    return {
        _row(key, f"{name}[{shown(key)}]", n): {
            _row(unit, f"{name}[{shown(key)}][{shown(unit)}]", width): tuple(
                text(word, name) for word in flat(words, name, (None,))
            )
            for unit, words in entry.items()
        }
        for key, entry in told.items()
    }


def _exact(told: Any, columns: Arrays) -> dict[int, Any]:
    if not isinstance(told, dict):
        raise UnsoundError(f"meta.reasons.exact must be an object, got {shown(told)}")
    found = {}
    for key, value in told.items():
        name = f"meta.reasons.exact[{shown(key)}]"
        i = _row(key, name, len(columns["lower"]))
        found[i] = fraction(value, name)
        if not columns["lower"][i] <= found[i] <= columns["upper"][i]:
            raise UnsoundError(f"{name} must lie between its bounds, got {shown(value)}")
    return found
