"""Reading archives: whatever is in the file, reasons that can be, or what is wrong with it."""

from __future__ import annotations

import math
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._completions import (
    Distribution,
)
from sklearn_probsr.laws._dispatch import law_of
from sklearn_probsr.laws._feature_sets import FeatureSets
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._sparse import SparseRows
from sklearn_probsr.results._archive import FORMAT
from sklearn_probsr.results._checked import (
    UnsoundError,
    allowance,
    cells,
    flag,
    flat,
    fraction,
    json_size,
    members,
    number,
    one_of,
    parsed,
    shown,
    text,
    texts,
    whole,
)
from sklearn_probsr.results._members import Declared, declared, load
from sklearn_probsr.results._reason import STATUSES
from sklearn_probsr.results._reasons import COLUMNS, SufficientReasons
from sklearn_probsr.results._row_labels import checked_labels
from sklearn_probsr.results._sentence import CLAIMS
from sklearn_probsr.results._sparse_members import KINDS, DeclaredRows, gathered
from sklearn_probsr.results._told_costs import read_costs
from sklearn_probsr.results._unarchive_model import OF_LAWS, read_law, read_model

__all__ = ["read_reasons"]

# The members of every archive, and what each holds; some have those of a distribution too.
_EVERY = {
    "meta": "u", "model/weights": "f", "more/values": "f", "more/base_values": "f",
    "more/data": "f", "reasons/rows": "bf", "reasons/features": "i", "reasons/indptr": "i",
    "reasons/lower": "f", "reasons/upper": "f", "reasons/minimality": "U", "reasons/epsilon": "f",
    "reasons/size_lower": "i", "reasons/samples": "i",
}  # fmt: skip
_METHODS = ("certified", "monte-carlo", "paper")

Arrays = dict[str, Any]


def read_reasons(
    file: IO[bytes], size: int, max_bytes: int | None
) -> tuple[SufficientReasons, Arrays, dict[str, Any]]:
    """Return the reasons in an archive, arrays and texts that belong to them.

    Parameters
    ----------
    file : binary file
    size : int
        How many bytes it has.
    max_bytes : int or None
        How many its arrays and texts may take.

    Raises
    ------
    UnsoundError
        If a member is not what `write_reasons` writes; it is named.
    """
    each = declared(file, _EVERY | OF_LAWS | KINDS)
    width = (each["model/weights"].shape or (0,))[-1] if "model/weights" in each else 0
    said = gathered(each, width)
    for name in _EVERY:
        if name not in said:
            raise UnsoundError(f"{name} is missing")
    most = allowance(size, max_bytes)
    total = sum(array.nbytes for array in said.values())
    _check_total(total, most)
    if len(said["meta"].shape) != 1:
        raise UnsoundError(f"meta must be a vector, got shape {said['meta'].shape}")
    source = load(file, each["meta"]).tobytes()
    del said["meta"]
    _check_total(total + json_size(source), most)
    meta = parsed(source, "meta")
    # A file of another version is told as such, whatever else it has.
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        got = meta.get("format") if isinstance(meta, dict) else meta
        raise UnsoundError(f"meta must have the format {FORMAT!r}, got {shown(got)}")
    meta = members(meta, "meta", ("format", "model", "law", "reasons", "texts"))
    _check_shapes(said, meta)
    held = {name: _loaded(file, array) for name, array in said.items()}
    model = read_model(held["model/weights"], meta["model"])
    law = law_of(model, read_law(held, meta["law"])).distribution
    reasons = _reasons(model, law, held, meta["reasons"])
    more = {name: held[f"more/{name}"] for name in ("values", "base_values", "data")}
    return reasons, more, _texts(meta["texts"], reasons, more)


def _loaded(file: IO[bytes], array: Declared | DeclaredRows) -> Any:
    return array.load(file) if isinstance(array, DeclaredRows) else load(file, array)


def _check_total(total: int, most: int) -> None:
    if total > most:
        raise UnsoundError(
            f"it takes {total:,} bytes unpacked, more than the {most:,} that it may; if you trust "
            f"it, pass max_bytes={total}"
        )


def _check_shapes(said: dict[str, Declared | DeclaredRows], meta: dict[str, Any]) -> None:
    """Refuse arrays that do not fit each other, before any of them is read."""
    told = meta["model"]
    several = isinstance(told, dict) and "intercepts" in told
    weights, data = said["model/weights"].shape, said["more/data"].shape
    if len(weights) != 1 + several:
        raise UnsoundError(f"model/weights must have {1 + several} dimensions, got shape {weights}")
    if len(data) != 2:
        raise UnsoundError(f"more/data must have 2 dimensions, got shape {data}")
    n, values = data[0], said["more/values"].shape
    told_of: tuple[int, ...] = data
    if isinstance(said["more/data"], DeclaredRows):  # values of what is in the reasons alone
        told_of = (math.prod(said["reasons/features"].shape),)
    outputs = (weights[0],) if several and len(values) == 1 + len(told_of) else ()
    expected: dict[str, tuple[int, ...]] = {f"reasons/{name}": (n,) for name in COLUMNS}
    expected |= {
        "reasons/rows": (n, weights[-1]),
        "reasons/features": (math.prod(said["reasons/features"].shape),),
        "reasons/indptr": (n + 1,),
        "more/values": (*told_of, *outputs),
        "more/base_values": (n, *outputs),
    }
    if "law/rows" in said:
        rows = said["law/rows"].shape[:1]
        expected |= {"law/rows": (*rows, weights[-1])}
        expected |= {name: rows for name in ("law/weights", "law/confirming") if name in said}
    for name, shape in expected.items():
        if said[name].shape != shape:
            raise UnsoundError(f"{name} must have shape {shape}, got {said[name].shape}")


# --- the reasons -----------------------------------------------------------------------------


def _reasons(model: Model, law: Distribution, held: Arrays, told: Any) -> SufficientReasons:
    known = (
        "delta",
        "confidence",
        "method",
        "forced",
        "only",
        "words",
        "exact",
        "flagged",
        "shown",
    )
    costs = told.pop("costs", None) if isinstance(told, dict) else None
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
    forced = tuple(
        whole(unit, "meta.reasons.forced", 0, width - 1)
        for unit in flat(told["forced"], "meta.reasons.forced", (None,))
    )
    valid = sets.take(np.flatnonzero(~invalid))
    if len(set(forced)) < len(forced) or any(told[: len(forced)] != forced for told in valid):
        raise UnsoundError(
            "meta.reasons.forced must name different features, the first of every reason"
        )
    only = tuple(
        one_of(word, "meta.reasons.only", ("present", "supporting"))
        for word in flat(told["only"], "meta.reasons.only", (None,))
    )
    raw = told["shown"]
    prices, least = read_costs(costs, model.unit_names, len(sets))
    return SufficientReasons(
        model=model,
        distribution=law,
        delta=number(told["delta"], "meta.reasons.delta", 0, 1),
        confidence=number(told["confidence"], "meta.reasons.confidence", 0, 1),
        method=one_of(told["method"], "meta.reasons.method", _METHODS),
        forced=forced,
        exact=_exact(told["exact"], columns),
        flagged=flagged,
        only=only,
        words=_words(told["words"], len(sets), width),
        shown=_shown(raw, held["more/data"], (len(sets), width)),
        sets=sets,
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
    nothing, width = (lower == 0) & (upper == 1) & (found.sizes == 0), found.width
    for name, sound, kind in (
        ("lower", (lower >= 0) & (lower <= 1), "numbers from 0 to 1"),
        ("upper", (upper >= lower) & (upper <= 1), "numbers from reasons/lower to 1"),
        ("epsilon", (epsilon >= 0) & (epsilon <= 1), "numbers from 0 to 1"),
        ("size_lower", (sizes >= 0) & (sizes <= width), f"whole numbers from 0 to {width}"),
        ("samples", samples >= 0, "whole numbers from 0 on"),
        ("minimality", words, "what can be proved"),
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


def _texts(told: Any, reasons: SufficientReasons, more: Arrays) -> dict[str, Any]:
    known = ("feature_names", "output_names", "display_data", "single", "in_probability", "index")
    held = dict(members(told, "meta.texts", known))
    n, width = len(reasons), reasons.model.n_units
    texts(held["feature_names"], "meta.texts.feature_names", width)
    if more["base_values"].ndim == 2:
        texts(held["output_names"], "meta.texts.output_names", more["base_values"].shape[1])
    else:
        text(held["output_names"], "meta.texts.output_names")
    if held["display_data"] is not None:
        held["display_data"] = cells(held["display_data"], "meta.texts.display_data", (n, width))
    flag(held["in_probability"], "meta.texts.in_probability")
    checked_labels(held["index"], "meta.texts.index", n)
    if flag(held["single"], "meta.texts.single") and n != 1:
        raise UnsoundError(f"meta.texts.single must be false, there are {n} rows")
    return held
