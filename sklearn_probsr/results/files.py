"""What the file of an explanation holds: each field declared once, and all of them held together.

`SCHEMA` is the whole story of the file: the model, the distribution, the reasons, and what the
explanation shows. Fields that are sound by themselves may contradict each other in a file that
somebody has made up: what the schema cannot say is checked here, or by the classes themselves.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import ENDS, FeatureSets
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.means import rows_before
from sklearn_probsr.core.options import Prices
from sklearn_probsr.distributions._completions import (
    Background,
    Marginals,
    Matching,
    Product,
    Uniform,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.argmax import ArgmaxModel
from sklearn_probsr.model.linear import LinearModel, Model
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.model.units import Unit
from sklearn_probsr.results._reason import STATUSES
from sklearn_probsr.results._reasons import SufficientReasons
from sklearn_probsr.results._sentence import CLAIMS
from sklearn_probsr.results.codec import (
    CELL,
    FLAG,
    LABEL,
    TEXT,
    Array,
    Cases,
    Kind,
    Lengths,
    Room,
    Schema,
    UnsoundError,
    cells,
    fraction,
    kind_of,
    many,
    mapping,
    maybe,
    number,
    one_of,
    pair,
    place,
    read,
    record,
    shown,
    whole,
    write,
)
from sklearn_probsr.rules._category_words import CategoryReader

FORMAT = "sklearn-probsr reasons 9"
# Of more units than these, the names are not compressed: see `codec.write`.
_MANY = 2**12
# About what a unit takes, and each number of its states.
_UNIT_BYTES, _STATE_BYTES = 300, 64


# --- the index of the rows -------------------------------------------------------------------

# How the values of a level are written: whole numbers (also dates, counted from 1970 on in their
# unit), other numbers, truth values, or texts and all else. A range is its three numbers.
_WHOLE = re.compile(r"u?int(8|16|32|64)|datetime64\[(s|ms|us|ns)(, [\w/+:\-]{1,64})?\]|"
                    r"timedelta64\[(s|ms|us|ns)\]")  # fmt: skip
_FLOAT = re.compile(r"float(32|64)")
_FLOATS = kind_of("a number", lambda value: type(value) in {int, float})
_INTEGERS = whole(-(2**63), 2**64)


def _level_of(kind: str) -> Kind:
    """Return how the values of a level are written in JSON."""
    if kind == "range":
        return pair(_INTEGERS, _INTEGERS, _INTEGERS)
    if _WHOLE.fullmatch(kind):
        return many(_INTEGERS, "n")
    if _FLOAT.fullmatch(kind):
        return many(_FLOATS, "n")
    if kind not in {"bool", "object", "any"}:
        raise UnsoundError(f"the kind of a level of the index is unknown, {shown(kind)}")
    return many(FLAG if kind == "bool" else CELL, "n")


def _plain_index(index: Any) -> dict[str, Any]:
    """Return a pandas Index as JSON has it; what JSON has no value for becomes text."""
    levels = []
    for level in (index.get_level_values(k) for k in range(index.nlevels)):
        kind = str(level.dtype)
        if hasattr(level, "start") and hasattr(level, "step"):
            kind, values = "range", [level.start, level.stop, level.step]
        elif _WHOLE.fullmatch(kind):
            values = (level.asi8 if hasattr(level, "asi8") else level.to_numpy()).tolist()
        elif _FLOAT.fullmatch(kind) or kind == "bool":
            values = level.to_numpy().tolist()
        else:
            kind = kind if kind == "object" else "any"
            gaps = level.isna()
            values = [None if gap else v for v, gap in zip(level, gaps, strict=True)]
        levels.append({"kind": kind, "values": _level_of(kind).write(values)})
    return {"names": [CELL.write(name) for name in index.names], "levels": levels}


def _read_index(told: Any, name: str, lengths: Lengths) -> dict[str, Any]:
    """Return what an index of n rows is made of: names, and the kind and values of each level."""
    levels = many(record(kind=TEXT, values=Kind(lambda value, *_: value)))
    held: dict[str, Any] = record(names=many(CELL), levels=levels).read(told, name, lengths)
    if not held["levels"] or len(held["names"]) != len(held["levels"]):
        raise UnsoundError(f"{name} must have a name for each of at least one level")
    for k, level in enumerate(held["levels"]):
        kind = _level_of(level["kind"])
        level["values"] = kind.read(level["values"], f"{name}.levels[{k}]", lengths)
        n = len(range(*level["values"]) if level["kind"] == "range" else level["values"])
        if n != lengths["n"]:
            raise UnsoundError(f"{name}.levels[{k}] must have {lengths['n']} labels, got {n}")
    return held


INDEX = Kind(_read_index, _plain_index)


# --- the schema ------------------------------------------------------------------------------

# A kind of units: all that units of the same kind share, which of words is all but their names. In
# place of its word, a label has gaps between its parts.
_UNIT = record(
    width=whole(1),
    states=maybe(many(many(number()))),
    labels=many(many(TEXT)),
    coded=FLAG,
)
_INPUTS: dict[str, Kind | Array] = {
    "feature_names": many(TEXT, "d", different=True),
    "classes": many(LABEL),
    # Without units, every column is one; without names, they are called as their columns are.
    "kinds": maybe(many(_UNIT)),
    "names": maybe(many(TEXT, "u", different=True)),
    "kind_of_unit": Array("i", ("u",), 0, optional=True),
    "columns_of_units": Array("i", ("d",), optional=True),
}
_ROWS: dict[str, Kind | Array] = {
    "rows": Array("bf", ("r", "d"), sparse=True),
    "weights": Array("i", ("r",)),
}
_REASONS: dict[str, Kind | Array] = {
    "rows": Array("bf", ("n", "d"), sparse=True),
    "features": Array("i", ("features",)),
    "indptr": Array("i", ("n+1",)),
    "lower": Array("f", ("n",), 0, 1),
    "upper": Array("f", ("n",), 0, 1),
    "minimality": Array("u", ("n",), words=("", *CLAIMS)),
    "epsilon": Array("f", ("n",), 0, 1),
    "size_lower": Array("i", ("n",), 0, "u"),
    "samples": Array("i", ("n",), 0),
    "stopped": Array("u", ("n",), words=("", *ENDS)),
    "least_cost": Array("f", ("n",), 0, optional=True),
    "delta": number(0, 1),
    "confidence": number(0, 1),
    "method": one_of("certified", "monte-carlo", "paper"),
    "forced": many(place("u"), different=True),
    "barred": many(place("u")),
    "max_size": maybe(whole(0)),
    "only": many(one_of("present", "supporting")),
    "exact": mapping(place("n"), fraction(high=1)),
    "flagged": mapping(place("n"), pair(one_of(*STATUSES[1:]), TEXT)),
    "words": mapping(place("n"), mapping(place("u"), many(TEXT))),
    "spelling": mapping(one_of("accents", "case"), many(place("u"))),
    "of_texts": FLAG,
    # What a person reads: the data themselves, or a table.
    "shown_is_data": FLAG,
    "shown": maybe(cells("n", "u")),
    "cost": maybe(many(fraction(1000), "u")),
    "categories": mapping(place("u"), many(pair(TEXT, whole(0)))),
}
SCHEMA: Schema = {
    "model": Cases(
        {
            "LinearModel": {
                "weights": Array("f", ("d",)),
                "threshold": number(),
                "strict": FLAG,
                "decimal": FLAG,
                **_INPUTS,
            },
            "ArgmaxModel": {
                "weights": Array("f", ("k", "d")),
                "intercepts": Array("f", ("k",)),
                "last": FLAG,
                **_INPUTS,
            },
        }
    ),
    "law": Cases(
        {
            "Uniform": {},
            "Product": {"p": many(fraction(high=1))},
            "Background": {**_ROWS, "sample": maybe(whole(1)), "random_state": whole(0)},
            "Marginals": _ROWS,
            "Matching": {
                "rows": _ROWS["rows"],
                "confirm": Array("b", ("r",)),
                "min_rows": whole(1),
                "confidence": fraction(high=1),
                "cautious": FLAG,
            },
        }
    ),
    "reasons": _REASONS,
    "more": {
        "data": Array("f", ("n", "u"), sparse=True),
        "base_values": Array("f"),
        # Of sparse rows those of the features in reasons, or none: SHAP values follow from rows.
        "values": Array("f", optional=True),
        "feature_names": maybe(many(TEXT, "u", different=True)),
        "output_names": many(TEXT, different=True),
        "display_data": maybe(cells("n", "u")),
        "single": FLAG,
        "view": one_of("all", "reason", "guarantee"),
        "index": INDEX,
    },
}


def write_explanation(path: Path, reasons: SufficientReasons, told: dict[str, Any]) -> None:
    """Write reasons and what their explanation shows: the fields below "more"."""
    model, costs = reasons.model, reasons.prices
    names, given = told["feature_names"], reasons.shown
    is_data = isinstance(cast("Any", given), SparseRows)
    held = {
        "model": {"kind": type(model).__name__, **model.decision, **_plain_units(model)},
        "law": _plain_law(model, reasons.distribution),
        "reasons": {
            **{name: getattr(reasons, name) for name in _REASONS if hasattr(reasons, name)},
            "features": reasons.sets.features.astype(np.int64),
            "indptr": reasons.sets.indptr,
            "shown": None if is_data else given,
            "shown_is_data": is_data,
            "cost": None if costs is None else [each * costs.unit for each in costs.whole],
            "categories": _plain_categories(reasons),
        },
        "more": {
            **told,
            "feature_names": None if tuple(names) == tuple(model.unit_names) else names,
            "output_names": (
                [told["output_names"]]
                if isinstance(told["output_names"], str)
                else told["output_names"]
            ),
        },
    }
    write(path, FORMAT, SCHEMA, held, plain=model.n_units > _MANY)


def read_explanation(
    file: IO[bytes], max_bytes: int | None
) -> tuple[SufficientReasons, dict[str, Any]]:
    """Return the reasons in a file, and the fields below "more"; of the index what it is made of.

    Raises
    ------
    UnsoundError, InvalidInputError
        If it is not what `write_explanation` writes; the message names the field that is wrong.
    """
    held, lengths, room = read(file, FORMAT, SCHEMA, max_bytes, {"u": "d"})
    model = _model(held["model"], room)
    if model.n_units != lengths["u"]:
        raise UnsoundError(f"more/data must have {model.n_units} columns, got {lengths['u']}")
    law = law_of(model, _law(held["law"])).distribution
    reasons = _reasons(model, law, held["reasons"], held["more"]["data"])
    return reasons, _explanation(held["more"], reasons)


# --- the model -------------------------------------------------------------------------------


def _plain_units(model: Model) -> dict[str, Any]:
    """Return names and units of a model; units that are alike but for their names are a kind."""
    units, names = model.units, model.feature_names
    found: dict[str, Any] = {
        "feature_names": names, "classes": model.classes, "kinds": None, "names": None,
        "kind_of_unit": None, "columns_of_units": None,
    }  # fmt: skip
    if units is None:
        return found
    kinds: dict[tuple[Any, ...], int] = {}
    numbers = []
    for unit in units:
        word = _word(unit.name)
        labels = tuple(tuple(label.split(word)) if word else (label,) for label in unit.labels)
        key = (len(unit.columns), unit.states, labels, unit.coded)
        numbers.append(kinds.setdefault(key, len(kinds)))
    columns = [column for unit in units for column in unit.columns]
    called = [unit.name for unit in units]
    return found | {
        "kinds": [dict(zip(("width", "states", "labels", "coded"), k, strict=True)) for k in kinds],
        "names": None if called == list(names) else called,
        "kind_of_unit": np.array(numbers, dtype=np.int64),
        "columns_of_units": np.array(columns, dtype=np.int64),
    }


def _word(name: str) -> str:
    """Return the word that the labels of a unit are made of: in a column of texts, without that."""
    return name.partition(": ")[2] or name


def _model(told: dict[str, Any], room: Room) -> Model:
    """Return the model of a file."""
    maker = {"LinearModel": LinearModel, "ArgmaxModel": ArgmaxModel}[told.pop("kind")]
    units = _units({name: told.pop(name) for name in [*_INPUTS][2:]}, told["feature_names"], room)
    model: Model = maker(**told, units=units)
    return model


def _units(told: dict[str, Any], names: list[str], room: Room) -> list[Unit] | None:
    """Return units; what they will take is counted before one is made."""
    kinds, numbers, columns = told["kinds"], told["kind_of_unit"], told["columns_of_units"]
    if len({kinds is None, numbers is None, columns is None}) > 1:
        raise UnsoundError("the fields of units in the model must be there together")
    if kinds is None:
        return None
    called = names if told["names"] is None else told["names"]
    if (numbers >= len(kinds)).any():
        raise UnsoundError(f"model/kind_of_unit must hold numbers below {len(kinds)}")
    if len(called) != len(numbers):
        raise UnsoundError(f"meta.model.names must hold {len(numbers)} values, got {len(called)}")
    ends = np.cumsum([0, *(kinds[k]["width"] for k in numbers.tolist())]).tolist()
    if ends[-1] != len(columns):
        raise UnsoundError(f"the units of the model must have {len(columns)} columns in all")
    each = [
        _UNIT_BYTES
        + _STATE_BYTES * sum(map(len, kind["states"] or ()))
        + sum(len(part) for label in kind["labels"] for part in label)
        for kind in kinds
    ]
    gaps = [sum(len(label) - 1 for label in kind["labels"]) for kind in kinds]
    at = numbers.tolist()
    size = sum(each[k] + gaps[k] * len(name) for k, name in zip(at, called, strict=True))
    room.take(max(size - room.texts, 0))  # what they are made of was counted, and generously
    places = columns.tolist()
    return [
        Unit(
            name,
            places[start:end],
            kinds[k]["states"],
            tuple(_word(name).join(label) for label in kinds[k]["labels"]),
            kinds[k]["coded"],
        )
        for k, name, start, end in zip(at, called, ends[:-1], ends[1:], strict=True)
    ]


# --- the distribution ------------------------------------------------------------------------

_LAWS: dict[str, Any] = {
    "Uniform": Uniform, "Product": Product, "Background": Background, "Marginals": Marginals,
    "Matching": Matching,
}  # fmt: skip


def _plain_law(model: Model, law: Any) -> dict[str, Any]:
    """Return a distribution by what it is made of, with its rows in the columns of the model."""
    kind = type(law).__name__
    if kind not in _LAWS:
        raise InvalidInputError(
            f"Explanations over {law} cannot be saved: {kind} is not one of Uniform, Product, "
            "Marginals, Background and Matching. Pickle them."
        )
    state = {"p": law.p} if kind == "Product" else {}
    if hasattr(law, "weights"):
        state = {**law.__getstate__(), "rows": rows_before(model, law), "weights": law.weights}
    if kind == "Matching":
        state["confidence"] = law.confidence
    return {"kind": kind, **state}


def _law(told: dict[str, Any]) -> Any:
    """Return the distribution of a file."""
    rows, kind = told.pop("rows", None), told.pop("kind")
    return _LAWS[kind](**told) if rows is None else _LAWS[kind](rows, **told)


# --- the reasons -----------------------------------------------------------------------------


def _plain_categories(reasons: SufficientReasons) -> dict[int, list[tuple[str, int]]]:
    """Return what categories are called, each with the place of the state that it is in."""
    found, reader = {}, reasons.reader
    for u, unit in enumerate(reasons.model.units or ()):
        known = None if reader is None or not unit.states else reader.categories(u)
        if known is not None and unit.states:
            places = {state: k for k, state in enumerate(unit.states)}
            found[u] = [(name, places[state]) for name, state in known if state in places]
    return found


def _reasons(model: Model, law: Any, told: dict[str, Any], data: Any) -> SufficientReasons:
    """Return the reasons of a file, or say which of its fields contradict each other."""
    sets = _sets(told.pop("features"), told.pop("indptr"), model.n_units)
    for name, rows in (("reasons/rows", told["rows"]), ("more/data", data)):
        if isinstance(rows, SparseRows) and not model.takes_sparse:
            raise UnsoundError(f"{name} must not be sparse: a feature of the model has states")
    check: Any = model.check_sparse if isinstance(told["rows"], SparseRows) else model.check_values
    told["rows"] = check(told["rows"], "reasons/rows")
    _check_columns(told, sets)
    if told.pop("shown_is_data"):
        if not isinstance(data, SparseRows):
            raise UnsoundError("meta.reasons.shown_is_data must be false, data are not sparse")
        told["shown"] = data
    for name in ("forced", "barred", "only"):
        told[name] = tuple(told[name])
    told["words"] = {
        i: {unit: tuple(words) for unit, words in one.items()} for i, one in told["words"].items()
    }
    told["spelling"] = {kind: tuple(units) for kind, units in told["spelling"].items() if units}
    reasons = SufficientReasons(
        model=model,
        distribution=law,
        sets=sets,
        reader=_reader(model, told.pop("categories")),
        prices=_prices(model, told.pop("cost"), told["least_cost"]),
        **told,
    )
    _check_sets(reasons)
    return reasons


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


def _check_columns(told: dict[str, Any], sets: FeatureSets) -> None:
    """Refuse numbers that no reason has; of an invalid row nothing is proved."""
    lower, upper = told["lower"], told["upper"]
    invalid = np.zeros(len(sets), dtype=np.bool_)
    invalid[[i for i, (status, _) in told["flagged"].items() if status == "invalid"]] = True
    nothing = (lower == 0) & (upper == 1) & (sets.sizes == 0)
    for name, sound, what in (
        ("upper", upper >= lower, "numbers from reasons/lower on"),
        ("minimality", invalid == (told["minimality"] == ""), "what can be proved"),
        ("lower", ~invalid | nothing, "the bounds of nothing where a row is invalid"),
    ):
        if not sound.all():
            row = int(np.flatnonzero(~sound)[0])
            got = told[name][row : row + 1].tolist()[0]
            raise UnsoundError(f"reasons/{name} must hold {what}, got {shown(got)} in row {row}")
    for i, value in told["exact"].items():
        if not lower[i] <= value <= upper[i]:
            raise UnsoundError(
                f"meta.reasons.exact must lie between its bounds, got {shown(str(value))}"
            )


def _check_sets(reasons: SufficientReasons) -> None:
    """Refuse sets that were not allowed."""
    sets, forced = reasons.sets, reasons.forced
    if reasons.max_size is not None and (sets.sizes > reasons.max_size).any():
        raise UnsoundError("meta.reasons.max_size must not be less than a reason has features")
    if np.isin(sets.features, reasons.barred).any():
        raise UnsoundError("meta.reasons.barred must name features that no reason has")
    valid = sets.take(np.flatnonzero(reasons.status != "invalid"))
    if forced and any(inside[: len(forced)] != forced for inside in valid):
        raise UnsoundError("meta.reasons.forced must name the first features of every reason")


def _prices(model: Model, cost: list[Fraction] | None, least: Any) -> Prices | None:
    """Return what features cost; what was proved of that is there where costs differ."""
    if cost is None:
        if least is not None:
            raise UnsoundError("reasons/least_cost must be missing where features have no costs")
        return None
    prices = Prices.of(cost, model.unit_names)
    if least is None and not prices.equal:
        raise UnsoundError("reasons/least_cost must be there where costs differ")
    return prices


def _reader(model: Model, told: dict[int, list[tuple[str, int]]]) -> CategoryReader | None:
    """Return what tells conditions on categories; None if there are none."""
    found = {}
    for u, entries in told.items():
        states = (model.units[u].states if model.units else None) or ()
        if any(k >= len(states) for _, k in entries):
            raise UnsoundError(f"meta.reasons.categories must name states of feature {u}")
        found[u] = [(name, states[k]) for name, k in entries]
    return CategoryReader(model, found) if found else None


# --- the explanation -------------------------------------------------------------------------


def _explanation(told: dict[str, Any], reasons: SufficientReasons) -> dict[str, Any]:
    """Return what the explanation shows, or say which fields do not fit the reasons."""
    base, values, data = (told[name] for name in ("base_values", "values", "data"))
    n, names, is_sparse = len(reasons), told["output_names"], isinstance(data, SparseRows)
    outputs = (len(reasons.model.classes),) if base.ndim == 2 else ()
    if reasons.model.by_class < len(outputs) or base.shape != (n, *outputs):
        raise UnsoundError(f"more/base_values must have shape {(n, *outputs)}")
    if len(names) != math.prod(outputs):
        raise UnsoundError(f"meta.more.output_names must hold {math.prod(outputs)} values")
    if values is None and (not is_sparse or told["view"] != "all"):
        raise UnsoundError("more/values is missing")
    if values is not None:
        rows = (len(reasons.sets.features),) if is_sparse else (n, reasons.model.n_units)
        if values.shape != (*rows, *outputs):
            raise UnsoundError(
                f"more/values must have shape {(*rows, *outputs)}, got {values.shape}"
            )
        if is_sparse and told["view"] == "all":
            raise UnsoundError("meta.more.view must not be 'all' of values in reasons alone")
    if told["single"] and n != 1:
        raise UnsoundError(f"meta.more.single must be false, there are {n} rows")
    if told["feature_names"] is None:
        told["feature_names"] = list(reasons.model.unit_names)
    if told["display_data"] is None:
        told["display_data"] = reasons.shown
    # Other code may write into these; what was read cannot be written into.
    for name in ("base_values", "values", "data"):
        if isinstance(told[name], np.ndarray):
            told[name] = told[name].copy()
    return told | {"output_names": names if outputs else names[0]}
