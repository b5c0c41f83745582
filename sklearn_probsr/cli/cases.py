"""A case: the model, the rows and the background that a command line names, and what is told.

Paths and options come in as they were typed. Out go tables with a line for each row, which are
those of `SufficientReasonExplainer.explain_iter` behind the number of the row, its id and its true
class; and a `Comparison`.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from sklearn_probsr import (
    Background,
    Comparison,
    Marginals,
    ReasonExplanation,
    SufficientReasonExplainer,
)
from sklearn_probsr.adapters.raw import raw_columns
from sklearn_probsr.cli.models import load_model
from sklearn_probsr.cli.tables import MOST_ROWS, Table, are_values, open_table
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.jobs import progress
from sklearn_probsr.model.numbers import listing
from sklearn_probsr.report.comparison._compare import compare_explained
from sklearn_probsr.results.codec import refusing

# Into how many parts for each job the rows are cut, of at least so many rows.
_PARTS, _FEWEST = 16, 32
# Floats tell all whole numbers below this one apart.
_EXACT = 2.0**53


class Case:
    """What a command was asked about, with the contents of the files.

    Parameters
    ----------
    model, data : Path
    rows : int or None
        How many of the rows are explained; None: all.
    on_error : {"raise", "skip"}
        What becomes of a row that the model does not take: an error, or a line without a reason.
    jobs : int or None
        How many processes share the rows; None: one.
    target, id : str or None
        The columns of the true class and of what rows are called.
    drop : sequence of str
        Columns that are no features.
    sep : str or None
        What is between the fields of a CSV.
    background : Path, "uniform" or None
        What replaces unknown features; None: the rows of the data.
    independent : bool
        Whether each feature is replaced by itself.
    sample : int or None
        How many rows of the background sets are searched on.
    label, versus : str or None
        The classes to tell apart, of several.
    trust, trust_pickle
        As `load_model` takes them.
    **options
        Those of `SufficientReasonExplainer` by which sets are searched.
    """

    def __init__(
        self,
        model: Path,
        data: Path,
        *,
        rows: int | None,
        on_error: str,
        jobs: int | None,
        target: str | None,
        id: str | None,
        drop: Sequence[str],
        sep: str | None,
        background: Path | str | None,
        independent: bool,
        sample: int | None,
        label: str | None,
        versus: str | None,
        trust: Sequence[str],
        trust_pickle: bool,
        **options: Any,
    ) -> None:
        self.data, self.skips, self.jobs = data, on_error == "skip", jobs
        self.target, self._id = target, id
        exact = [] if id is None else [id]
        self.table = open_table(data, sep, exact)
        self.n = self.table.rows if rows is None else min(rows, self.table.rows)
        taken = [name for name in (*drop, target, id) if name is not None]
        asked = [("--target", target), ("--id", id), *(("--drop", name) for name in drop)]
        for option, name in asked:
            if name is not None and name not in self.table.names:
                raise InvalidInputError(
                    f"{option} {name}: {data} has no such column. "
                    f"It has {listing(self.table.names)}."
                )
        other = None
        if background not in {None, "uniform"}:
            other = open_table(Path(background), sep, exact)
        found = load_model(model, trust, trust_pickle)
        if not hasattr(found, "predict"):
            raise InvalidInputError(f"{model} holds no classifier, but a {type(found).__name__}.")
        with refusing(f"{model} cannot be explained"):
            self._raw = raw_columns(found, None, next(self.table.read(1)))
        self.features = self._features_of(taken)
        if self._raw.text and (independent or sample):
            raise InvalidInputError(
                "--independent and --sample are for tables, and the model takes texts."
            )
        nameless = not self._raw.named and not self._raw.text
        self._options = options | {
            "target": _class(model, found, label, "--class"),
            "versus": _class(model, found, versus, "--versus"),
            "feature_names": self.features if nameless else None,
            "n_jobs": jobs,
        }
        if background == "uniform":
            self.replacement = "Unknown features are drawn at random, each value as often as any."
            self.explainer = SufficientReasonExplainer(found, "uniform", **self._options)
        else:
            self.explainer = self._over(found, other or self.table, independent, sample)

    def _features_of(self, taken: Sequence[str]) -> list[str]:
        """Return the columns that the model takes, or say which it lacks, or has too many."""
        path, columns, raw = self.data, self.table.names, self._raw
        if raw.named:
            missing = [name for name in raw.names if name not in columns]
            wrong = [name for name in raw.names if name in taken]
            if wrong:
                raise InvalidInputError(
                    f"{listing(wrong)} cannot be a --target, an --id or dropped: the model was "
                    "fitted on it."
                )
            ignored = [name for name in columns if name not in {*raw.names, *taken}]
            if missing:
                hint = " Is its first line a line of names?" if are_values(columns) else ""
                has = f"It has instead {listing(ignored)}." if ignored else "It has no others."
                raise InvalidInputError(
                    f"{path} lacks {len(missing)} of the {len(raw.names)} columns that the model "
                    f"was fitted on: {listing(missing)}. {has}{hint}"
                )
            if ignored:
                warnings.warn(
                    f"{path} has columns that the model does not know, which are ignored: "
                    f"{listing(ignored)}.",
                    stacklevel=3,
                )
            return list(raw.names)
        left = [name for name in columns if name not in taken]
        n = 1 if raw.text else len(raw.names)
        if len(left) != n:
            wanted = f"{n} column{'s' if n != 1 else ''}, {'of texts' if raw.text else 'as fitted'}"
            raise InvalidInputError(
                f"{path} must have {wanted}, it has {len(left)}: {listing(left)}. Name a column "
                "that holds the true class with --target, and others to leave out with --drop."
            )
        if are_values(left):
            raise InvalidInputError(
                f"{path} must begin with a line of names, it begins with {listing(left)}."
            )
        return left

    def _rows(self, frame: Any, path: Path) -> Any:
        """Return what the model takes of some rows of a file."""
        missing = [name for name in self.features if name not in frame]
        if missing:
            raise InvalidInputError(
                f"{path} must have the columns that the model takes, it lacks {listing(missing)}."
            )
        rows = frame[self.features]
        return rows.iloc[:, 0] if self._raw.text else rows

    def _over(
        self, model: Any, table: Table, independent: bool, sample: int | None
    ) -> SufficientReasonExplainer:
        """Return the explainer over the rows of a table, and say in words which these are."""

        def over(rows: Any) -> SufficientReasonExplainer:
            if independent:
                rows = Marginals.fit(rows)
            elif sample is not None:
                rows = Background(rows, sample=sample)
            return SufficientReasonExplainer(model, rows, **self._options)

        own = table is self.table
        rows = self._rows(table.sample(MOST_ROWS) if own else table.whole(), table.path)
        n = len(rows)
        try:
            explainer = over(rows)
        except InvalidInputError as error:
            gaps = rows.isna().to_numpy().reshape(n, -1).any(axis=1)
            if not (own and self.skips) or not gaps.any() or gaps.all():
                about = f"{table.path}: " if str(error).startswith("masker ") else ""
                raise InvalidInputError(f"{about}{error}") from error
            rows = rows[~gaps].reset_index(drop=True)
            explainer = over(rows)
            warnings.warn(
                f"{int(gaps.sum())} of {n} rows of {table.path} have gaps that the model does not "
                "take, and replace no unknown features.",
                stacklevel=3,
            )
            n = len(rows)
        which = f"the {n:,} rows" if n > 1 else "the only row"
        if n < table.rows:
            which = f"{n:,} rows"
        way = "each by itself, from" if independent else "all together, by those of"
        searched = f"; sets are searched on {sample:,}" if sample and sample < n else ""
        self.replacement = (
            f"Unknown features are replaced, {way} {which} of {table.path}{searched}."
        )
        return explainer

    # --- what is told ------------------------------------------------------------------------

    def explained(self, numbers: Sequence[int]) -> tuple[ReasonExplanation, Any]:
        """Return the reasons of some rows, and what these are called, with their status."""
        rows, lead = self._numbered(numbers)
        found = self.explainer(rows, silent=True)
        status, messages = found.reasons.status, found.reasons.message
        return found, self._checked(lead.assign(status=status, message=messages))

    def _numbered(self, numbers: Sequence[int]) -> tuple[Any, Any]:
        """Return some rows, as the model takes them, and what stands before their reasons."""
        for row in numbers:
            if not 0 <= row < self.table.rows:
                raise InvalidInputError(
                    f"--row {row}: {self.data} has {self.table.rows:,} rows, and the first is 0."
                )
        frame = self.table.whole().iloc[list(numbers)].reset_index(drop=True)
        return self._rows(frame, self.data), self._lead(frame, numbers)

    def told(self, numbers: Sequence[int] = ()) -> Iterator[Any]:
        """Yield tables of the reasons of some rows; of all that are asked for, part by part."""
        waiting: deque[Any] = deque()

        def frames() -> Iterator[Any]:
            if numbers:
                rows, lead = self._numbered(numbers)
                waiting.append(lead)
                yield rows
                return
            size = math.ceil(self.n / (_PARTS * joblib.effective_n_jobs(self.jobs)))
            start = 0
            for batch in self.table.read(min(max(size, _FEWEST), MOST_ROWS)):
                frame = batch[: self.n - start]
                waiting.append(self._lead(frame, range(start, start + len(frame))))
                yield self._rows(frame, self.data)
                start += len(frame)
                if start == self.n:
                    return

        found = ((0, part) for part in self.explainer.explain_iter(frames(), n_jobs=self.jobs))
        for _, part in progress(found, len(numbers) or self.n, "explain", not sys.stderr.isatty()):
            yield self._checked(pd.concat([waiting.popleft(), part], axis=1))

    def compared(self, dependence: bool) -> tuple[Comparison, Any]:
        """Return the rows compared with SHAP, and the table of it."""
        frame = self.table.whole()[: self.n]
        rows, lead = self._rows(frame, self.data), self._lead(frame, range(self.n))
        if self._id is not None:
            rows = rows.set_axis(pd.Index(lead.iloc[:, 1].tolist(), name=self._id))
        true = None
        if "truth" in lead:
            own = {label_text(label): label for label in self.explainer.linear_model.classes}
            known = lead["truth"].map(label_text, na_action="ignore")
            true = [own.get(text, text) for text in known] if known.isin(own).any() else None
        found = compare_explained(self.explainer, rows, dependence=dependence, y=true)
        table = found.to_frame().reset_index(drop=True).drop(columns="true_class", errors="ignore")
        return found, self._checked(pd.concat([lead, table], axis=1))

    def schema(self) -> Any:
        """Return the types of the columns of `told`, as Arrow has them."""
        import pyarrow as pa

        lead = pa.Schema.from_pandas(self._lead(next(self.table.read(1)), [0]))
        return pa.schema([*lead, *self.explainer.arrow_schema()])

    def _lead(self, frame: Any, numbers: Sequence[int]) -> Any:
        """Return the numbers of some rows, what they are called, and their true classes."""
        lead = pd.DataFrame({"row": np.asarray(numbers, dtype=np.int64)})
        for name, column in ((self._id, self._id), ("truth", self.target)):
            if column is not None:
                free = name not in {"row", "truth", *self.explainer.schema.columns}
                lead[name if free or name == "truth" else "id"] = self._texts(frame[column])
        return lead

    def _texts(self, column: Any) -> Any:
        """Return whole numbers and gaps as such where a file says so, all else as texts."""
        if column.name in self.table.integers:
            return pd.array(column.tolist(), "Int64")
        texts = [
            None if gap else label_text(v) for v, gap in zip(column, column.isna(), strict=True)
        ]
        return pd.array(texts, "string")

    def _checked(self, told: Any) -> Any:
        """Refuse rows that the model does not take, unless they are to be skipped."""
        bad = told[told["status"] == "invalid"]
        if len(bad) and not self.skips:
            first = bad.iloc[0]
            raise InvalidInputError(
                f"Row {first['row']} of {self.data} (the first is 0) cannot be explained: "
                f"{first['message']} Or pass --on-error skip: such rows have no reason then."
            )
        return told


def label_text(label: Any) -> str:
    """Return a class as one types it; a whole number is one also where others are missing."""
    whole = isinstance(label, float) and label.is_integer() and abs(label) < _EXACT
    return str(int(label)) if whole else str(label)


def _class(path: Path, model: Any, text: str | None, option: str) -> Any:
    """Return the class of a model that a text names."""
    if text is None or not hasattr(model, "classes_"):
        return text
    known = list(model.classes_)
    for label in known:
        if label_text(label) == text:
            return label
    names = ", ".join(map(label_text, known))
    raise InvalidInputError(f"{option} {text}: the classes of {path} are {names}.")
