"""Tabled reasons: those of many rows as a table, on a terminal or in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.cli._case import Case
from sklearn_probsr.cli._spoken_reasons import to_json
from sklearn_probsr.cli._terminal_text import one_line
from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.model.numbers import exact_text, unnamed
from sklearn_probsr.results._inert_text import csv_text, markdown, writable
from sklearn_probsr.results._listed import count, joined
from sklearn_probsr.results.codec import atomically

__all__ = [
    "MOST_IN_WORDS",
    "MOST_LINES",
    "summary",
    "summed_up",
    "to_csv",
    "to_markdown",
    "write",
]

# As many rows as these are told one by one, and so many lines of a table are printed.
MOST_IN_WORDS, MOST_LINES = 10, 20


def write(case: Case, told: dict[str, Any], path: Path, raw: bool) -> None:
    """Write what there is to say about some rows, as the ending of the file asks for."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        table = _frame(case, told)
        # The classes, ids and true ones may be of several types; a column has one.
        for name in table.columns:
            if table[name].dtype.kind == "O" and name not in {"reason", "facts", "reason_values"}:
                table[name] = _of_one_type(table[name])
        atomically(path, lambda file: table.to_parquet(file, index=False))
        return
    if ending == ".csv":
        content = to_csv(_frame(case, told), raw)
    else:
        whole = to_json(told) if ending == ".json" else to_markdown(case, told, len(told["rows"]))
        content = f"{writable(whole)}\n".encode()
    atomically(path, lambda file: file.write(content))


def _of_one_type(column: Any) -> Any:
    """Return whole numbers and gaps as such, and else all that is no gap as texts."""
    gaps = column.isna()
    known = column[~gaps]
    if len(known) and all(type(value) is int and abs(value) < 2**63 for value in known):
        return column.astype("Int64")
    return [None if gap else str(value) for value, gap in zip(column, gaps, strict=True)]


def to_csv(table: Any, raw: bool, header: bool = True) -> bytes:
    """Return a table as CSV, sizes that are missing in some rows whole in the others."""
    sizes = [name for name in table if name.endswith("_size") and table[name].dtype.kind == "f"]
    return csv_text(table.astype(dict.fromkeys(sizes, "Int64")), raw, header).encode()


def summary(told: dict[str, Any]) -> str:
    """Say in a line or two how many features it takes."""
    rows = [row for row in told["rows"] if row.get("status", "ok") == "ok"]
    sizes = np.array([len(row["reason"]) for row in rows])
    claims = np.array([row["minimality"] for row in rows])
    return summed_up(told, len(told["rows"]), sizes, claims)


def summed_up(told: dict[str, Any], n: int, sizes: NDArray[Any], claims: NDArray[Any]) -> str:
    """Say it of n rows, of which some have a reason, of these sizes and minimality.

    ``told`` has the names of the data and the distribution, delta, and the scope if not all sets
    were allowed.
    """
    head = f"{count(n, 'row')} of {told['data']}, delta = {exact_text(told['delta'])}, over "
    lines = [f"{head}{told['distribution']}."]
    if len(sizes):
        proved, best = np.mean(claims == "minimum"), np.mean(claims == "best-of-size")
        small = "cheap" if "cost" in told else "small"
        level = exact_text(told["delta"])
        those = f", among sets {told['scope']}" if "scope" in told else ""
        short = f" In {best:.0%} of the rows no set found surely reaches {level}." if best else ""
        lines.append(
            f"A reason has {np.median(sizes):g} (median, {sizes.min()} to {sizes.max()}) features; "
            f"{proved:.0%} are proved to be as {small} as possible{those}.{short}"
        )
    if len(sizes) < n:
        lines.append(f"{n - len(sizes)} of the rows have none; their status says why.")
    return "\n".join(lines)


def to_markdown(case: Case, told: dict[str, Any], most: int) -> str:
    """Return the summary and the first rows as Markdown."""
    # What is the same in all rows is said in the summary.
    left_out = ["reason", "reason_values", "guarantee_upper", "scope", "size_lower", "cost_lower"]
    table = _frame(case, told).drop(columns=[*left_out, "message", "sentence"], errors="ignore")
    table = table.rename(columns={"facts": "reason"})
    names = list(table.columns)
    words = [markdown(line) for line in summary(told).split("\n")]
    lines = [*words, "", f"| {' | '.join(markdown(str(name)) for name in names)} |"]
    lines.append("|" + " --- |" * len(names))
    for row in table.head(most).to_dict("records"):
        cells = [_cell(name, row[name]) for name in names]
        lines.append(f"| {' | '.join(cells)} |")
    left = len(table) - most
    if left > 0:
        lines.append(f"\n{left} more rows: -o FILE writes all of them.")
    return "\n".join(lines)


def _cell(name: str, value: Any) -> str:
    if isinstance(value, list):
        return markdown(joined([one_line(part) for part in value]))
    if name == "guarantee_lower":
        return lower_text(float(value), 4)
    return markdown(one_line("" if value is None else str(value)))


def _frame(case: Case, told: dict[str, Any]) -> Any:
    """Return one line for each row."""
    import pandas as pd

    rows = told["rows"]
    columns: dict[str, Any] = {"prediction": [row["prediction"] for row in rows]}
    if case.truth is not None:
        columns["truth"] = [row["truth"] for row in rows]
    for name in ("reason", "facts"):
        columns[name] = pd.Series([row[name] for row in rows], dtype=object)
    pairs = [zip(row["reason"], row["facts"], strict=True) for row in rows]
    values = [[unnamed(name, fact) for name, fact in told] for told in pairs]
    columns |= {
        "reason_values": pd.Series(values, dtype=object),
        "reason_size": [len(row["reason"]) for row in rows],
        "guarantee_lower": [row["guarantee"]["lower"] for row in rows],
        "guarantee_upper": [row["guarantee"]["upper"] for row in rows],
        "minimality": [row["minimality"] for row in rows],
        **({"scope": told["scope"]} if "scope" in told else {}),
        "size_lower": [row["size_lower"] for row in rows],
    }
    for name in ("cost", "cost_lower"):
        if any(name in row for row in rows):
            columns[name] = [row.get(name, 0.0) for row in rows]
    for name in ("status", "message"):
        if rows and name in rows[0]:
            columns[name] = [row[name] for row in rows]
    columns["sentence"] = [row["sentence"] for row in rows]
    return case.numbered(pd.DataFrame(columns), [row["row"] for row in rows])
