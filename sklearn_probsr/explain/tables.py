"""The tables of reasons: what is told of a row, in which columns, of which types.

`SufficientReasons` come in. Out go the table of an explanation, one line a row, and that of
`explain_frame`, whose types never depend on the rows: it is what Dask, Spark and Ray map, what the
command line writes, and what `explain_iter` yields of frames without number.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.frames._flagged_rows import sift
from sklearn_probsr.explain.jobs import Question, check_jobs, in_windows
from sklearn_probsr.explain.subjects._subject import Subject
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import listing, unnamed
from sklearn_probsr.results._listed import Names, joined
from sklearn_probsr.results._reasons import SufficientReasons
from sklearn_probsr.results._scope import Scope

# The columns of `explain_frame` and what they hold; "scope" stands there if not all sets are
# allowed, what it costs if features have costs.
_COLUMNS = {
    "prediction": "label", "reason": "texts", "reason_values": "texts", "reason_size": "count",
    "guarantee_lower": "number", "guarantee_upper": "number", "minimality": "text",
    "scope": "text", "size_lower": "count", "cost": "number", "cost_lower": "number",
    "status": "text", "message": "text",
}  # fmt: skip
# The type of each kind in pandas and in Arrow; labels go by the letter of NumPy's kinds. A
# prediction may be missing, as may the minimality: those of a row that is invalid.
_TYPES = {
    "texts": ("object", "list<string>"), "text": ("string", "string"),
    "count": ("int64", "int64"), "number": ("float64", "double"),
    "b": ("boolean", "bool"), "i": ("Int64", "int64"), "u": ("Int64", "int64"),
    "f": ("float64", "double"), "U": ("string", "string"), "O": ("object", "string"),
}  # fmt: skip
# Spark's names of Arrow's types.
_SPARK = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT",
    "uint8": "SMALLINT", "uint16": "INT", "uint32": "BIGINT", "float": "FLOAT",
    "double": "DOUBLE", "string": "STRING", "large_string": "STRING", "binary": "BINARY",
    "date32[day]": "DATE",
}  # fmt: skip
# Into how many pieces for each job a frame is cut, of at least and at most so many rows.
_PIECES, _FEWEST, _FEWEST_PROVED, _MOST = 8, 32, 2, 10_000
# So many facts are kept in words, since many rows share them.
_MOST_FACTS = 100_000
# Width to which a guarantee on the way to a reason is computed.
_WIDTH = 1e-4


# --- what is told of every row ---------------------------------------------------------------


def reason_columns(reasons: SufficientReasons) -> dict[str, Any]:
    """Return what both tables tell of every row but the features themselves, by column."""
    return {
        "prediction": reasons.prediction,
        "reason_size": reasons.size,
        "guarantee_lower": reasons.lower,
        "guarantee_upper": reasons.upper,
        "minimality": _words(reasons.minimality),
        **reasons.scope.column,
        "size_lower": reasons.size_lower,
        **cost_columns(reasons),
        "status": _words(reasons.status),
        "message": reasons.message,
    }


def cost_columns(reasons: SufficientReasons) -> dict[str, NDArray[np.float64]]:
    """Return what reasons cost, and what is proved of that; nothing if nobody asked."""
    if reasons.prices is None:
        return {}
    return {"cost": reasons.cost, "cost_lower": reasons.cost_lower}


def reason_table(reasons: SufficientReasons, index: Any) -> Any:
    """Return a DataFrame with one line for each reason, under an index."""
    import pandas as pd

    columns = reason_columns(reasons)
    told, law = reasons.sets, law_of(reasons.model, reasons.distribution)
    columns |= {
        "reason": _cells(told, reasons),
        "against": _cells(reasons.against, reasons),
        "distribution": str(reasons.distribution),
    }
    if law.conditional:
        columns |= _shared(reasons, list(told))
    first = ["prediction", "reason", "reason_size", "against", "guarantee_lower"]
    first += ["guarantee_upper", "minimality", "scope", "cost", "cost_lower", "distribution"]
    order = [name for name in first if name in columns]
    order += [name for name in columns if name not in {*first, "size_lower"}]
    return pd.DataFrame({name: columns[name] for name in order}, index=index)


def _cells(sets: FeatureSets, reasons: SufficientReasons) -> NDArray[Any]:
    """Return the names of some features of each row; as text, as in a CSV, they are facts."""

    def facts(i: int) -> str:
        return joined([reasons.fact(i, u) for u in sets.of(i)])

    found = sets.named(reasons.model.unit_names)
    found[:] = Names.cells(found, facts)
    return found


def _words(column: NDArray[np.str_]) -> NDArray[Any]:
    """Return words as objects, one for each different word; None for no word."""
    found, left = np.full(len(column), None, dtype=object), column != ""
    while left.any():
        word = str(column[int(np.argmax(left))])
        same = column == word
        found[same] = word
        left &= ~same
    return found


def _shared(reasons: SufficientReasons, features: list[tuple[int, ...]]) -> dict[str, Any]:
    """Return how many rows share the facts of each reason; none of an invalid row."""
    valid = reasons.status != "invalid"
    held = [
        reasons.matches(i, f) if ok else None
        for i, (f, ok) in enumerate(zip(features, valid.tolist(), strict=True))
    ]
    return {
        "coverage": [0.0 if m is None else m.coverage for m in held],
        "matching_rows": [0 if m is None else m.confirmed.matching for m in held],
        "kept_rows": [0 if m is None else m.confirmed.kept for m in held],
    }


def gains(reasons: SufficientReasons) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each feature of a reason adds to the guarantee, and the guarantee of nothing.

    The former behind each other, in the order of the reasons and of their features, which are
    fixed one by one; the last one reaches the guarantee. Sets are bounded once for all rows that
    share them: the guarantee depends on the class and the facts.
    """
    model, law = reasons.model, law_of(reasons.model, reasons.distribution)
    values, base = [np.zeros(0)], np.zeros(len(reasons))
    classes = model.winners(reasons.rows).tolist()
    columns = [[u] for u in range(model.n_units)]
    if model.units is not None:
        columns = [list(unit.columns) for unit in model.units]
    known: dict[Any, float] = {}
    for i, features in enumerate(reasons.sets):
        if reasons.flagged.get(i, ("", ""))[0] == "invalid":
            continue
        row, view, facts, levels = reasons.rows[i], None, frozenset[Any](), []
        for k, unit in enumerate(features):
            key = (classes[i], facts) if not law.conditional else (i, k)
            if key not in known:
                view = law.view(row) if view is None else view
                known[key] = view.answer(features[:k], _WIDTH).lower
            levels.append(known[key])
            facts |= {(unit, row[columns[unit]].tobytes())}
        levels.append(float(reasons.lower[i]))
        base[i] = levels[0]
        values.append(np.diff(levels))
    return np.concatenate(values), base


def _values(reasons: SufficientReasons) -> list[list[str]]:
    """Return what each feature of each reason is, without its name, in words."""
    model, shown = reasons.model, reasons.shown
    names, units = model.unit_names, model.units
    known: dict[Any, str] = {}

    def value(i: int, row: NDArray[Any], j: int) -> str:
        raw = None if shown is None else shown[i, j]
        columns = [j] if units is None else list(units[j].columns)
        key = (j, str(raw), *row[columns].tolist())
        if key not in known:
            if len(known) > _MOST_FACTS:
                known.clear()
            known[key] = unnamed(names[j], model.describe(j, row, raw))
        return known[key]

    each = enumerate(zip(reasons.sets, reasons.rows, strict=True))
    return [[value(i, row, j) for j in told] for i, (told, row) in each]


# --- frames ----------------------------------------------------------------------------------


class Partitions:
    """What an explainer tells of frames, one by one: a frame of fixed types for each."""

    n_jobs: int | None
    linear_model: Model
    _subject: Subject
    _question: Question
    scope: Scope

    def explain_frame(self, X: Any, *, id_columns: Iterable[str] = ()) -> Any:
        """Return the reasons of a frame as a frame: the function for Dask, Spark and Ray.

        It is silent, depends on nothing but its arguments, and one bad row never stops it,
        whatever ``on_error`` is: a row that cannot be explained as asked is flagged. The types of
        the columns are those of `schema`, also if there are no rows or only bad ones.

        Parameters
        ----------
        X : DataFrame, or what the explainer takes
            Columns of a frame that the model does not know are left out.
        id_columns : iterable of str, default=()
            Columns of X to carry along, before the others. They need not be features.

        Returns
        -------
        DataFrame
            One line a row, under the index of X: ``prediction``, ``reason`` (a list of names, the
            most telling first), ``reason_values`` (what each of them is, as people read it),
            ``reason_size``, ``guarantee_lower``, ``guarantee_upper``, ``minimality``,
            if not all sets were allowed ``scope`` (those that it speaks of), ``size_lower``, with
            costs ``cost`` and ``cost_lower``, ``status`` ("ok", "unreachable" or "invalid") and
            ``message``. Of an invalid row, prediction and minimality are missing.

        Raises
        ------
        InvalidInputError
            If something is wrong with all rows alike: a column is missing, for one.
        """
        return self._told(X, _names(id_columns), self.n_jobs)

    def explain_iter(
        self, frames: Iterable[Any], *, n_jobs: int | None = None, id_columns: Iterable[str] = ()
    ) -> Iterator[Any]:
        """Yield what `explain_frame` returns of each of many frames, in their order.

        Frames are read as they are needed and are not kept: never more than a few for each job.

        Parameters
        ----------
        frames : iterable of what `explain_frame` takes
        n_jobs : int or None, default=None
            How many jobs of joblib share the frames, on whichever backend is active; the result is
            the same for any number. None: as many as the explainer was made with.
        id_columns : iterable of str, default=()
            As in `explain_frame`.

        Yields
        ------
        DataFrame
            One for each frame.
        """
        jobs = self.n_jobs if n_jobs is None else check_jobs(n_jobs)
        if isinstance(frames, str) or hasattr(frames, "shape") or not isinstance(frames, Iterable):
            raise InvalidInputError(
                f"frames must be an iterable of frames, got one {type(frames).__name__}. Pass it "
                "to explain_frame, or [frame]."
            )
        return self._in_windows(frames, _names(id_columns), jobs)

    @property
    def schema(self) -> Any:
        """What `explain_frame` returns of no rows: Dask's ``meta``."""
        return self.pandas_schema()

    def pandas_schema(self, id_columns: Any = None) -> Any:
        """Return what `explain_frame` returns of no rows.

        Parameters
        ----------
        id_columns : mapping of str to dtype or None, default=None
            The columns that are carried along, with their types in pandas, as
            ``X[["customer"]].dtypes`` has them.

        Returns
        -------
        DataFrame
        """
        import pandas as pd

        return pd.DataFrame(
            {
                name: pd.Series([], dtype=kind)
                for name, kind in (self._ids(id_columns) | self._types(0)).items()
            }
        )

    def arrow_schema(self, id_columns: Any = None) -> Any:
        """Return the types of what `explain_frame` returns, as Arrow has them.

        Parameters
        ----------
        id_columns : mapping of str to dtype or None, default=None
            As in `pandas_schema`.

        Returns
        -------
        pyarrow.Schema
            ``pyarrow.Table.from_pandas(frame, schema, preserve_index=False)`` takes it.
        """
        import pyarrow as pa

        texts = {"list<string>": pa.list_(pa.string())}
        fields = [(name, _arrow_of(dtype)) for name, dtype in self._ids(id_columns).items()]
        fields += [
            (name, texts.get(kind) or pa.type_for_alias(kind))
            for name, kind in self._types(1).items()
        ]
        return pa.schema(fields)

    def spark_schema(self, id_columns: Any = None) -> str:
        """Return the types of what `explain_frame` returns, as Spark writes them (DDL).

        Parameters
        ----------
        id_columns : mapping of str to dtype or None, default=None
            As in `pandas_schema`.

        Returns
        -------
        str
            ``DataFrame.mapInPandas`` takes it.
        """
        schema = self.arrow_schema(id_columns)
        return ", ".join(f"{_quoted(field.name)} {_spark_of(field)}" for field in schema)

    def _types(self, of: int) -> dict[str, str]:
        """Return the types of the columns; 0: in pandas, 1: in Arrow."""
        left_out = set() if self.scope.column else {"scope"}
        if self._question.options.cost is None:
            left_out |= {"cost", "cost_lower"}
        kinds = {np.asarray(label).dtype.kind for label in self.linear_model.classes}
        label = kinds.pop() if len(kinds) == 1 else "O"
        return {
            name: _TYPES[(label if label in _TYPES else "O") if kind == "label" else kind][of]
            for name, kind in _COLUMNS.items()
            if name not in left_out
        }

    def _ids(self, id_columns: Any) -> dict[str, Any]:
        """Return names and types of columns that are carried along, or say what they must be."""
        if id_columns is None:
            return {}
        if not hasattr(id_columns, "items"):
            raise InvalidInputError(
                "id_columns of a schema must map each name to its type in pandas, as "
                f"X[['customer']].dtypes or {{'customer': 'int64'}} does, got {id_columns!r}."
            )
        _check_free(id_columns.keys(), self._types(0))
        return dict(id_columns.items())

    def _in_windows(
        self, frames: Iterable[Any], ids: Sequence[str], n_jobs: int | None
    ) -> Iterator[Any]:
        """Yield what is told of each of many frames, each by one job."""
        ask = partial(_told_alone, ids=ids)
        return in_windows(ask, self, f"{self._question.token}, frames", frames, n_jobs)

    def _told(self, X: Any, ids: Sequence[str], n_jobs: int | None) -> Any:
        """Return the reasons of a frame, found by some jobs."""
        import pandas as pd

        if hasattr(X, "to_pandas") and not isinstance(X, pd.DataFrame | pd.Series):
            X = X.to_pandas()
        _check_ids(X, ids, self._types(0))
        features = _features(self._subject, X, ids)
        pieces = _pieces(features, n_jobs, self._question.options.prove is True)
        if len(pieces) == 1:
            told = self._flagged(features, n_jobs)
        else:  # jobs tell their rows in words, too
            whole = pd.concat(self._in_windows(pieces, (), n_jobs), ignore_index=True)
            told = whole.astype(self._types(0)).set_axis(features.index, axis=0)
        for k, name in enumerate(ids):
            told.insert(k, name, X[name].array)
        return told

    def _flagged(self, features: Any, n_jobs: int | None) -> Any:
        import pandas as pd

        if not _has_rows(features):
            index = getattr(features, "index", pd.RangeIndex(0))
            return self.pandas_schema().set_axis(index, axis=0)
        taken = sift(self._subject, features, "flag")
        found = replace(self._question, flag=True).answer(taken.valid, n_jobs, silent=True)
        if taken.invalid:
            found = found.among(taken.at, taken.rows, taken.invalid)
        reasons = replace(found, shown=self._subject.given(taken.display))
        columns = reason_columns(reasons)
        columns["reason"] = [list(told) for told in reasons.sets.named(reasons.model.unit_names)]
        columns["reason_values"] = _values(reasons)
        return pd.DataFrame(
            {
                name: pd.Series(columns[name], index=taken.index, dtype=dtype)
                for name, dtype in self._types(0).items()
            },
            index=taken.index,
        )


def _told_alone(explainer: Partitions, X: Any, ids: Sequence[str]) -> Any:
    """Tell of a frame in a job, which has no jobs of its own."""
    return explainer._told(X, ids, 1)


def _names(id_columns: Any) -> tuple[str, ...]:
    """Return the names of the columns to carry along, or say that they are none."""
    if id_columns is None:
        return ()
    if isinstance(id_columns, str) or not isinstance(id_columns, Iterable):
        raise InvalidInputError(
            f"id_columns must be a list of names, got {id_columns!r}. Write ['customer'] for one."
        )
    return tuple(dict.fromkeys(id_columns))


def _check_free(names: Iterable[Any], columns: Collection[str]) -> None:
    """Refuse to carry a column along that has the name of another one."""
    for name in names:
        if name in columns:
            raise InvalidInputError(
                f"id_columns must not name {name!r}, which is a column of the result. Rename it in "
                "X."
            )


def _check_ids(X: Any, ids: Sequence[str], columns: Collection[str]) -> None:
    """Refuse columns that cannot be carried along."""
    for name in ids:
        _check_free([name], columns)
        if not hasattr(X, "columns"):
            raise InvalidInputError(
                f"id_columns names {name!r}, and X has no names of columns. Pass a DataFrame."
            )
        if list(X.columns).count(name) != 1:
            raise InvalidInputError(
                f"id_columns names {name!r}, which X must have once. Its columns are "
                f"{listing(list(X.columns))}; its index is kept in any case."
            )


def _features(subject: Subject, X: Any, ids: Sequence[str]) -> Any:
    """Return what a model takes of a frame: by name what it knows by name, else all but ids."""
    if not hasattr(X, "columns"):
        return X
    known = subject.by_name
    if known is not None and set(known) <= set(X.columns):
        X = X[list(known)]
    else:
        X = X.drop(columns=[name for name in ids if name not in (subject.columns or ())])
    if not subject.takes_text:
        return X
    if X.shape[1] != 1:
        raise InvalidInputError(
            "X must have one column, of texts, beside those in id_columns, got "
            f"{listing(list(X.columns)) or 'none'}."
        )
    return X.iloc[:, 0]


def _pieces(X: Any, n_jobs: int | None, slow: bool) -> list[Any]:
    """Return a frame in pieces that jobs can share, or whole if it is short or no frame."""
    jobs = joblib.effective_n_jobs(n_jobs)
    if jobs == 1 or not hasattr(X, "iloc") or not _has_rows(X):
        return [X]
    fewest = _FEWEST_PROVED if slow else _FEWEST
    size = min(max(math.ceil(len(X) / (jobs * _PIECES)), fewest), _MOST)
    return [X.iloc[start : start + size] for start in range(0, len(X), size)]


def _has_rows(X: Any) -> bool:
    """Whether there are rows, or what is none, which is told when it is read."""
    if getattr(X, "shape", ()):
        return bool(X.shape[0])
    return not hasattr(X, "__len__") or len(X) > 0


# --- types -----------------------------------------------------------------------------------


def _arrow_of(dtype: Any) -> Any:
    """Return Arrow's type of a column of pandas; objects are texts."""
    import pandas as pd
    import pyarrow as pa

    found = pa.Array.from_pandas(pd.Series([], dtype=dtype)).type
    plain = pa.types.is_null(found) or pa.types.is_large_string(found)
    return pa.string() if plain else found


def _spark_of(field: Any) -> str:
    """Return Spark's type of a column of Arrow."""
    import pyarrow as pa

    found = str(field.type)
    if field.type == pa.list_(pa.string()):
        return "ARRAY<STRING>"
    if found.startswith("timestamp"):
        return "TIMESTAMP" if "tz=" in found else "TIMESTAMP_NTZ"
    if found not in _SPARK:
        raise InvalidInputError(
            f"id_columns: Spark has no type for {field.name!r}, which is {found}. Make it a text "
            "or a number first."
        )
    return _SPARK[found]


def _quoted(name: str) -> str:
    """Return a name as Spark takes it, whatever is in it."""
    plain = name.isidentifier() and name.isascii()
    return name if plain else f"`{name.replace('`', '``')}`"
