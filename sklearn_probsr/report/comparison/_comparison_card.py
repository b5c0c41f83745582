"""The card of a comparison in a notebook: its summary and its first rows."""

from __future__ import annotations

from sklearn_probsr.report.comparison._compared import Compared
from sklearn_probsr.report.comparison._row_names import ids_of
from sklearn_probsr.report.comparison._summary import cell
from sklearn_probsr.results.views import SHOWN_ROWS, bound, bullets, card, line, table

__all__ = ["comparison_card"]

_COLUMNS = {
    "prediction": "class",
    "reason": "reason",
    "reason_size": "features",
    "guarantee_lower": "guarantee",
    "minimality": "proved",
    "abs_shap_size": "features by |SHAP|",
    "top_shap_guarantee_lower": "guarantee of as many by |SHAP|",
}


def comparison_card(found: Compared) -> str:
    """Return the summary and the first rows as a card; the rest is in ``to_frame()``."""
    head, *words = found.summary().split("\n")
    columns, status = _COLUMNS, found.table["status"]
    flagged = any(word != "ok" for word in status)
    ids = ids_of(found)
    n = min(len(found), SHOWN_ROWS)
    labels = list(range(n)) if ids is None else ids.labels[:n]
    rows = []
    for i, label in enumerate(labels):
        cells = {name: cell(name, found.table[name][i]) for name in columns}
        cells = {k: bound(told) if k.endswith("lower") else told for k, told in cells.items()}
        message = f": {found.table['message'][i]}" if status[i] != "ok" else ""
        rows.append([label, *cells.values(), *([f"{status[i]}{message}"] if flagged else [])])
    more = f"{len(found) - n:,} more rows; to_frame() has all rows and columns."
    called = "row" if ids is None else ids.name
    shown = table(
        [called, *columns.values(), *(["status"] if flagged else [])],
        rows,
        more if len(found) > n else "",
    )
    return card(line(head, head=True), bullets(words), *([shown] if n else []))
