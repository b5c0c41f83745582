"""Many rows: those of files of any size, explained batch by batch into one file."""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_probsr import __version__
from sklearn_probsr.cli._batched_files import BATCH, Source, open_source
from sklearn_probsr.cli._case import Case
from sklearn_probsr.cli._case_files import load_case, split
from sklearn_probsr.cli._class_labels import label_text
from sklearn_probsr.cli._finished_parts import Parts, digest, stamps
from sklearn_probsr.cli._packed_tables import framed
from sklearn_probsr.cli._paths import check_output, write_output
from sklearn_probsr.cli._request import Request
from sklearn_probsr.cli._table_features import features_of
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.results.codec import atomically

__all__ = ["explain_files"]

# So many rows of the data replace unknown features, unless others are named.
_BACKGROUND = 10_000


@dataclass(frozen=True, eq=False)
class _Run:
    """One run: what is read, who explains it, and where it goes."""

    case: Case
    source: Source
    explainer: Any
    parts: Parts
    rows: int

    @property
    def n_parts(self) -> int:
        return -(-self.rows // BATCH)

    def batches(self) -> Iterator[tuple[int, Any]]:
        """Yield the number and the rows of every batch that is not finished yet."""
        left = self.rows
        for k, batch in zip(range(self.n_parts), self.source.batches(), strict=False):
            if not self.parts.has(k):
                yield k, batch.iloc[:left]
            left -= len(batch)


def explain_files(request: Request, output: Path, args: Any) -> tuple[str, int]:
    """Explain all rows of some files, or the first of them, into a table.

    Parameters
    ----------
    request : Request
    output : Path
        A ``.parquet`` or a ``.csv``. It appears when it is whole.
    args : Namespace
        With ``jobs``, ``resume``, ``rows``, ``force`` and ``raw``.

    Returns
    -------
    pair of str and int
        What to say of it, and the exit code.
    """
    check_output(output, args.force, request.inputs)
    source = open_source(request.data, request.sep, [] if request.id is None else [request.id])
    drawn = source.sample(_BACKGROUND) if request.background is None else next(source.batches())
    case = _case(request, drawn)
    with case.answering():
        explainer = case.explainer()
    rows = source.rows if args.rows is None else min(args.rows, source.rows)
    job = _job(request, source, rows, output)
    run = _Run(case, source, explainer, Parts(output, job, args.resume, args.force), rows)
    try:
        with case.answering():
            _explain(run, args.jobs)
    except KeyboardInterrupt:
        done = sum(run.parts.has(k) for k in range(run.n_parts))
        raise KeyboardInterrupt(
            f"{done} of {run.n_parts} parts of {output} are kept: --resume goes on with them."
        ) from None
    told = _Told(request)
    write_output(output, args.force, lambda path: _write(run, told, path, args.raw))
    run.parts.remove()
    lines = [_replacement(case, source), told.accuracy(), told.summary(run)]
    text = "\n".join([*filter(None, lines), f"Written to {output}."])
    return text, 3 if told.flagged else 0


def _explain(run: _Run, jobs: int | None) -> None:
    """Explain what is not finished, with a bar for those who watch."""
    from sklearn_probsr.explain.jobs._progress import progress

    waiting: deque[tuple[int, dict[str, Any]]] = deque()

    def frames() -> Iterator[Any]:
        for k, batch in run.batches():
            table, truth, ids = split(run.case.request, run.case.request.data, batch)
            waiting.append((k, {"truth": truth, "id": ids}))
            yield _rows(run.case, table)

    left = sum(min(BATCH, run.rows - k * BATCH) for k in range(run.n_parts) if not run.parts.has(k))
    found = ((0, told) for told in run.explainer.explain_iter(frames(), n_jobs=jobs))
    for _, told in progress(found, left, "explain", not sys.stderr.isatty()):
        k, beside = waiting.popleft()
        run.parts.write(k, _table(run, k, told, beside))


def _rows(case: Case, table: Any) -> Any:
    """Return what the model takes of a batch."""
    request = case.request
    return features_of(case.model, table, request.data, request.model, predict=False).rows


def _table(run: _Run, k: int, told: Any, beside: dict[str, Any]) -> Any:
    """Return what is told of a batch, with the numbers of its rows, ids and true classes first."""
    import pyarrow as pa

    types = run.explainer.arrow_schema()
    columns = {"row": pa.array(np.arange(k * BATCH, k * BATCH + len(told)))}
    known = {"row", "truth", *types.names}
    for which, column in (("id", beside["id"]), ("truth", beside["truth"])):
        if column is None:
            continue
        name = "truth" if which == "truth" else str(column.name)
        kind = run.source.type_of(str(column.name))
        name = "id" if which == "id" and name in known else name
        values = column if kind != pa.string() else _texts(column)
        columns[name] = pa.array(values, kind, from_pandas=True)
    table = pa.Table.from_pandas(told, types, preserve_index=False)
    columns |= {name: table.column(name) for name in types.names}
    return pa.table(columns)


def _texts(column: Any) -> list[str | None]:
    gaps = column.isna()
    return [None if gap else label_text(v) for v, gap in zip(column, gaps, strict=True)]


# --- the background --------------------------------------------------------------------------


def _case(request: Request, drawn: Any) -> Case:
    """Return the case; rows with gaps replace nothing, if the model does not take them."""
    try:
        return load_case(request, drawn)
    except InvalidInputError:
        full = ~split(request, request.data, drawn)[0].isna().any(axis=1).to_numpy()
        if request.background is not None or full.all() or not full.any():
            raise
    case = load_case(request, drawn[full].reset_index(drop=True))
    n = len(drawn) - int(full.sum())
    warnings.warn(
        f"{n} of {len(drawn)} rows of {request.data} have gaps that the model does not take, and "
        "replace no unknown features.",
        stacklevel=3,
    )
    return case


def _replacement(case: Case, source: Source) -> str:
    """Say what replaces unknown features."""
    text, n = case.replacement, 0 if case.background is None else len(case.background)
    if case.request.background is not None or n == source.rows:
        return text
    data = case.request.data
    return text.replace(f"the {n:,} rows of {data}", f"{n:,} rows of {data}, drawn at random")


def _job(request: Request, source: Source, rows: int, output: Path) -> dict[str, Any]:
    """Return what a run is about: one with the same has the same parts."""
    other = request.background_path
    asked = {name: value for name, value in asdict(request).items() if name not in _NAMED}
    return {
        "version": __version__,
        "model": digest(request.model),
        "data": stamps(source.files),
        "background": request.background if other is None else digest(other),
        **asked,
        "number of rows": [rows, BATCH],
        "format": output.suffix.lower(),
    }


_NAMED = {"model", "data", "background", "trust", "trust_pickle"}


# --- the end ---------------------------------------------------------------------------------


class _Told:
    """What there is to say of all rows, counted while they are written."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.sizes: list[Any] = []
        self.claims: list[Any] = []
        self.flagged = self.right = self.known = 0

    def count(self, table: Any) -> None:
        """Count the rows of a part."""
        status = table.column("status").to_numpy(zero_copy_only=False)
        fine = status == "ok"
        self.flagged += int((~fine).sum())
        self.sizes.append(table.column("reason_size").to_numpy()[fine])
        self.claims.append(table.column("minimality").to_numpy(zero_copy_only=False)[fine])
        if self._request.target is not None:
            said, true = (table.column(name).to_pylist() for name in ("prediction", "truth"))
            pairs = [(a, b) for a, b in zip(said, true, strict=True) if b is not None]
            self.known += len(pairs)
            self.right += sum(a is not None and label_text(a) == label_text(b) for a, b in pairs)

    def accuracy(self) -> str | None:
        """Say how often the model is right, if the true classes are known."""
        column = f"the column {self._request.target!r}"
        if self._request.target is None:
            return None
        if not self.known:
            return f"There are no classes in {column}."
        share = f"{self.right / self.known:.1%}"
        return f"The model is right on {self.right} of {self.known} rows ({share}), by {column}."

    def summary(self, run: _Run) -> str:
        """Say how many features it takes."""
        from sklearn_probsr.cli._tabled_reasons import summed_up

        about = {
            "data": str(self._request.data),
            "delta": self._request.delta,
            **self._request.told_costs,
            **run.explainer.scope.column,
            "distribution": str(run.explainer.distribution),
        }
        return summed_up(about, run.rows, np.concatenate(self.sizes), np.concatenate(self.claims))


def _write(run: _Run, told: _Told, path: Path, raw: bool) -> None:
    """Put the parts behind each other into one file."""
    from pyarrow import parquet

    from sklearn_probsr.cli._tabled_reasons import to_csv

    def as_parquet(file: Any) -> None:
        writer = None
        for table in run.parts.tables(run.n_parts):
            told.count(table)
            writer = writer or parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()

    def as_csv(file: Any) -> None:
        for k, table in enumerate(run.parts.tables(run.n_parts)):
            told.count(table)
            file.write(to_csv(framed(table, table.column_names), raw, header=k == 0))

    atomically(path, as_parquet if path.suffix.lower() == ".parquet" else as_csv)
