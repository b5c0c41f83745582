"""What is told of rows: a table in a file or on a terminal, JSON, or words."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
import pandas as pd

from sklearn_probsr import ReasonExplanation
from sklearn_probsr.cli.cases import Case, label_text
from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.model.numbers import exact_text, value_text, without_rounding
from sklearn_probsr.results._inert_text import csv_text
from sklearn_probsr.results._listed import count

# So many features are shown beside those of the reason, and so many lines of a table printed.
_SHOWN, _LINES = 10, 20


class Summary:
    """What there is to say of all rows, counted while their tables go by."""

    def __init__(self) -> None:
        self._first: list[Any] = []
        self._sizes: list[Any] = []
        self._claims: Counter[str] = Counter()
        self._rows = self._known = self._right = 0

    def count(self, table: Any) -> Any:
        """Count the rows of a table, and return it."""
        fine = table[table["status"] == "ok"]
        if self._rows < _LINES:
            self._first.append(table.head(_LINES - self._rows))
        self._rows += len(table)
        self._sizes.append(fine["reason_size"].to_numpy(dtype=np.int32))
        self._claims.update(fine["minimality"])
        if "truth" in table:
            pairs = table.loc[table["truth"].notna() & table["prediction"].notna()]
            same = pairs["truth"].map(label_text) == pairs["prediction"].map(label_text)
            self._known, self._right = self._known + len(pairs), self._right + int(same.sum())
        return table

    def accuracy(self, case: Case) -> str | None:
        """Say how often the model is right, if the true classes are known."""
        if case.target is None:
            return None
        if not self._known:
            return f"There are no classes in the column {case.target!r}."
        return (
            f"The model is right on {self._right} of {self._known} rows "
            f"({self._right / self._known:.1%}), by the column {case.target!r}."
        )

    def text(self, case: Case) -> str:
        """Say how many features it takes."""
        explainer, sizes = case.explainer, np.concatenate(self._sizes)
        delta = exact_text(explainer.delta)
        lines = [
            self.accuracy(case),
            f"{count(self._rows, 'row')} of {case.data}, delta = {delta}, over "
            f"{explainer.distribution}.",
        ]
        if len(sizes):
            proved, best = (self._claims[c] / len(sizes) for c in ("minimum", "best-of-size"))
            small = "small" if explainer.cost is None else "cheap"
            those = "".join(f", among sets {text}" for text in explainer.scope.column.values())
            short = f" In {best:.0%} of the rows no set found surely reaches {delta}."
            lines.append(
                f"A reason has {np.median(sizes):g} (median, {sizes.min():g} to {sizes.max():g}) "
                f"features; {proved:.0%} are proved to be as {small} as possible{those}."
                f"{short if best else ''}"
            )
        if len(sizes) < self._rows:
            lines.append(f"{self._rows - len(sizes)} of the rows have none; their status says why.")
        return "\n".join(filter(None, lines))

    def printed(self) -> str:
        """Return the first rows as a terminal shows them."""
        table = pd.concat(self._first, ignore_index=True)
        # What is the same in all rows is said in the summary.
        left_out = ["reason_values", "guarantee_upper", "scope", "size_lower", "cost_lower"]
        shown = table.drop(columns=[*left_out, "message"], errors="ignore")
        shown["reason"] = shown["reason"].map("; ".join)
        shown["guarantee_lower"] = [lower_text(value, 4) for value in shown["guarantee_lower"]]
        cells = shown.map(lambda value: "" if pd.isna(value) else _words(value))
        text = cells.rename(columns=_words).to_string(index=False, max_colwidth=60)
        left = self._rows - len(table)
        return f"{text}\n\n{left:,} more rows: -o FILE writes all of them." if left else text


def write(tables: Iterable[Any], ending: str, schema: Any, file: IO[bytes]) -> None:
    """Write tables behind each other, as the ending of a file says; in Parquet by a schema."""
    if ending.lower() == ".csv":
        for k, table in enumerate(tables):
            sizes = [name for name in table if name.endswith("_size")]
            sizes = [name for name in sizes if table[name].dtype.kind == "f"]
            whole = table.astype(dict.fromkeys(sizes, "Int64"))
            file.write(csv_text(whole, header=k == 0).encode())
        return
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    writer = None
    for table in tables:
        content = pa.Table.from_pandas(table, schema, preserve_index=False)
        writer = writer or ParquetWriter(file, content.schema)
        writer.write_table(content)
    if writer is not None:
        writer.close()


def json_lines(table: Any) -> Iterator[str]:
    """Yield a JSON object for each row of a table, in which nothing steers a terminal."""
    for row in table.to_dict("records"):
        text = json.dumps({name: _plain(value) for name, value in row.items()})
        yield text.replace("\x7f", "\\u007f")


def _plain(value: Any) -> Any:
    """Return a value that JSON has; what is missing is null."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is pd.NaT or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


# --- words -----------------------------------------------------------------------------------


def in_words(case: Case, found: ReasonExplanation, lead: Any) -> str:
    """Say why rows got their class, with the SHAP values of their features beside."""
    shown = found.data if found.display_data is None else found.display_data
    blocks = []
    for i, row in enumerate(lead.to_dict("records")):
        called = "".join(
            f" ({_words(name)} {_words(value)})"
            for name, value in row.items()
            if name not in {"row", "truth", "status", "message"} and not pd.isna(value)
        )
        head = f"Row {row['row']}{called} of {case.data}:"
        if row["status"] == "invalid":
            blocks.append(f"{head} invalid. {_words(row['message'])}")
        else:
            values = found.of_prediction().values[i]
            blocks.append(f"{head} {_row(case, found.reasons[i], row, shown[i], values)}")
    return "\n\n".join(blocks)


def _row(case: Case, reason: Any, row: dict[str, Any], shown: Any, values: Any) -> str:
    classes = [label_text(label) for label in case.explainer.linear_model.classes]
    said = label_text(reason.prediction)
    base, towards, zero, rather = case.explainer.expected_value, said, "", ""
    if len(classes) == 2:
        towards, zero = classes[1], "; at 0 the class changes"
        rather = f" rather than {_words(classes[said == classes[0]])}"
    else:  # of several classes no number is where the class changes
        base = base[classes.index(said)]
    truth = row.get("truth")
    known = "" if truth is None or pd.isna(truth) else label_text(truth)
    it_is = f", {'and' if known == said else 'but'} it is {_words(known)}" if known else ""
    those = "".join(f", among sets {text}" for text in case.explainer.scope.column.values())
    inside = set(reason.features)
    names = case.explainer.linear_model.unit_names
    order = np.argsort(-np.abs(values), kind="stable").tolist()
    told = [j for k, j in enumerate(order) if k < _SHOWN or j in inside]
    numbers = without_rounding(np.asarray(values, dtype=float))
    cells = [("feature", "value", "SHAP value", "")]
    cells += [
        (_words(names[j]), _cell(shown[j]), f"{numbers[j]:+.4g}", "in the reason" * (j in inside))
        for j in told
    ]
    wide = [max(len(cell[k]) for cell in cells) for k in range(3)]
    lines = [
        f"called {_words(said)}{rather}{it_is}.",
        *([] if row["status"] == "ok" else [f"It is {row['status']}: {_words(row['message'])}"]),
        _words(str(reason)),
        f"Guarantee: {reason.guarantee}. Minimality: {reason.minimality}{those}.",
        "",
        *(
            f"  {a:<{wide[0]}}  {b:>{wide[1]}}  {c:>{wide[2]}}  {d}".rstrip()
            for a, b, c, d in cells
        ),
    ]
    if len(order) > len(told):
        lines.append(f"  and {len(order) - len(told)} more, with smaller SHAP values")
    lines.append(
        f"  SHAP values above 0 are towards {_words(towards)}, from {base:.4g} on average{zero}."
    )
    return "\n".join(lines)


def _words(value: Any) -> str:
    return " ".join(str(value).split())


def _cell(value: Any) -> str:
    missing = pd.api.types.is_scalar(value) and pd.isna(value)
    text = "missing" if missing else _words(value_text(value))
    return text if len(text) <= 24 else f"{text[:21]}..."
