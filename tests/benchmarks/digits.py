"""Explain ten digits over independent pixels: several classes, one row at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import Marginals, SufficientReasonExplainer
from tests.benchmarks.report import Row, Table, seconds

ROWS = 20


def tables() -> Iterator[Table]:
    """Yield the table of this benchmark."""
    pixels, digit = load_digits(return_X_y=True)
    cases = {"black or white": (pixels > 8).astype(float), "17 shades": pixels / 16}
    lines = []
    for name, rows in cases.items():
        model = LogisticRegression(max_iter=2000).fit(rows, digit)
        lines.append(_measured(name, model, rows))
    yield Table(
        "Ten digits",
        "`SufficientReasonExplainer` on scikit-learn's 8 by 8 digits, a `LogisticRegression` of "
        f"ten classes over `Marginals` of all {len(pixels)} rows: {ROWS} rows, one call each, "
        "after one row of each class, which builds its tables. Size and lower bound of the size "
        "are medians; what is left is near-subset-minimal, or locally minimal.",
        ("pixels", "size", "size_lower", "subset-minimal or minimum", "locally", "median", "mean"),
        tuple(lines),
    )


def _measured(name: str, model: LogisticRegression, rows: np.ndarray) -> Row:
    explainer = SufficientReasonExplainer(model, Marginals.fit(rows))
    some = rows[:: len(rows) // ROWS][:ROWS]
    first = np.unique(model.predict(rows), return_index=True)[1]
    for row in rows[first]:
        explainer(row[None])
    reasons, spent = [], []
    for row in some:
        start = time.process_time()
        reasons.append(explainer(row[None]).reasons[0])
        spent.append(time.process_time() - start)
    words = [reason.minimality for reason in reasons]
    proved = float(np.mean([word in {"minimum", "subset-minimal"} for word in words]))
    mean = float(np.mean(spent))
    cells = (
        name,
        f"{np.median([reason.size for reason in reasons]):g}",
        f"{np.median([reason.size_lower for reason in reasons]):g}",
        f"{100 * proved:.0f}%",
        f"{100 * words.count('locally-minimal') / ROWS:.0f}%",
        seconds(float(np.median(spent))),
        seconds(mean),
    )
    return Row(cells, ">= 80%, 0.5 s", proved >= 0.8 and mean <= 0.5)
