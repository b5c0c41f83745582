"""Partitions: the reasons of a frame as a frame, which engines for many machines map."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import joblib
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.frames._flagged_rows import sift
from sklearn_probsr.explain.frames._reason_frames import cost_columns
from sklearn_probsr.explain.frames._schema import Schema, check_id
from sklearn_probsr.explain.jobs._batches import Question, check_jobs
from sklearn_probsr.explain.jobs._sent_once import in_windows
from sklearn_probsr.explain.subjects._subject import Subject
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import listing, unnamed
from sklearn_probsr.results._reasons import SufficientReasons
from sklearn_probsr.results._scope import Scope

__all__ = ["Partitions"]

# Into how many pieces for each job a frame is cut, of at least and at most so many rows.
_PIECES, _FEWEST, _FEWEST_PROVED, _MOST = 8, 32, 2, 10_000
# So many facts are kept in words, since many rows share them.
_MOST_FACTS = 100_000


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
        return self._schema(id_columns).empty()

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
        return self._schema(id_columns).arrow()

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
        return self._schema(id_columns).spark()

    def _schema(self, id_columns: Any = None) -> Schema:
        priced = self._question.options.cost is not None
        return Schema.of(self.linear_model.classes, id_columns, priced, bool(self.scope.column))

    def _in_windows(
        self, frames: Iterable[Any], ids: Sequence[str], n_jobs: int | None
    ) -> Iterator[Any]:
        """Yield what is told of each of many frames, each by one job."""
        ask = partial(_told_alone, ids=ids)
        return in_windows(ask, self, f"{self._question.token}, frames", frames, n_jobs)

    def _told(self, X: Any, ids: Sequence[str], n_jobs: int | None) -> Any:
        """Return the reasons of a frame, found by some jobs."""
        X = _read_in(X)
        _check_ids(X, ids, self._schema().columns)
        features = _features(self._subject, X, ids)
        pieces = _pieces(features, n_jobs, self._question.options.prove is True)
        if len(pieces) == 1:
            told = self._flagged(features, n_jobs)
        else:  # jobs tell their rows in words, too
            told = self._schema().joined(list(self._in_windows(pieces, (), n_jobs)), features.index)
        for k, name in enumerate(ids):
            told.insert(k, name, X[name].array)
        return told

    def _flagged(self, features: Any, n_jobs: int | None) -> Any:
        schema = self._schema()
        if not _has_rows(features):
            return schema.empty(getattr(features, "index", None))
        taken = sift(self._subject, features, "flag")
        found = replace(self._question, flag=True).answer(taken.valid, n_jobs, silent=True)
        if taken.invalid:
            found = found.among(taken.at, taken.rows, taken.invalid)
        reasons = replace(found, shown=self._subject.given(taken.display))
        return schema.frame(_columns(reasons), taken.index)


def _told_alone(explainer: Partitions, X: Any, ids: Sequence[str]) -> Any:
    """Tell of a frame in a job, which has no jobs of its own."""
    return explainer._told(X, ids, 1)


# --- rows as they come -----------------------------------------------------------------------


def _read_in(X: Any) -> Any:
    """Return a table of another library as one of pandas, and all else as it is."""
    import pandas as pd

    known = isinstance(X, pd.DataFrame | pd.Series) or not hasattr(X, "to_pandas")
    return X if known else X.to_pandas()


def _names(id_columns: Any) -> tuple[str, ...]:
    """Return the names of the columns to carry along, or say that they are none."""
    if id_columns is None:
        return ()
    if isinstance(id_columns, str) or not isinstance(id_columns, Iterable):
        raise InvalidInputError(
            f"id_columns must be a list of names, got {id_columns!r}. Write ['customer'] for one."
        )
    return tuple(dict.fromkeys(id_columns))


def _check_ids(X: Any, ids: Sequence[str], columns: Collection[str]) -> None:
    """Refuse columns that cannot be carried along."""
    for name in ids:
        check_id(name, columns)
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


# --- what is told of them --------------------------------------------------------------------


def _columns(reasons: SufficientReasons) -> dict[str, Any]:
    """Return what is told of every row, by column."""
    minimality = reasons.minimality.astype(object)
    minimality[reasons.minimality == ""] = None
    names = [list(told) for told in reasons.sets.named(reasons.model.unit_names)]
    return {
        "prediction": reasons.prediction,
        "reason": names,
        "reason_values": _values(reasons),
        "reason_size": reasons.size,
        "guarantee_lower": reasons.lower,
        "guarantee_upper": reasons.upper,
        "minimality": minimality,
        **reasons.scope.column,
        "size_lower": reasons.size_lower,
        **cost_columns(reasons),
        "status": reasons.status.astype(object),
        "message": reasons.message,
    }


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
