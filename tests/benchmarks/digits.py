"""Explain ten digits over independent pixels: several classes, one row at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import (
    ArgmaxModel,
    Marginals,
    Product,
    SufficientReasonExplainer,
    sufficient_reason,
)
from sklearn_probsr.results import SufficientReason
from tests.benchmarks.report import Row, Table, seconds

ROWS = 40


def tables() -> Iterator[Table]:
    """Yield the table of this benchmark."""
    pixels, digit = load_digits(return_X_y=True)
    dark, shades = (pixels > 8).astype(float), pixels / 16
    models = [LogisticRegression(max_iter=2000).fit(rows, digit) for rows in (dark, shades)]
    lines = (
        _measured("black or white", "Marginals", models[0], dark, Marginals.fit(dark)),
        _measured("black or white", "Product", models[0], dark, Product(dark.mean(axis=0))),
        _measured("17 shades", "Marginals", models[1], shades, Marginals.fit(shades)),
    )
    yield Table(
        "Ten digits",
        "`SufficientReasonExplainer` on scikit-learn's 8 by 8 digits, a `LogisticRegression` of "
        f"ten classes over independent pixels, as in all {len(pixels)} rows: {ROWS} rows, one call "
        "each, after one row of each class, which builds its tables. Size and lower bound of the "
        "size are medians; the lower bound is at least that of the class before any single rival "
        "(the best duel's) in so many rows. What is left is near-subset-minimal, or locally "
        "minimal.",
        (
            "pixels",
            "distribution",
            "size",
            "size_lower",
            "the best duel's",
            "subset-minimal or minimum",
            "median",
            "mean",
        ),
        lines,
    )


def _measured(
    name: str, kind: str, model: LogisticRegression, rows: np.ndarray, law: Marginals | Product
) -> Row:
    explainer = SufficientReasonExplainer(model, law)
    some = rows[:: len(rows) // ROWS][:ROWS]
    first = np.unique(model.predict(rows), return_index=True)[1]
    for row in rows[first]:
        explainer(row[None])
    reasons, spent = [], []
    for row in some:
        start = time.process_time()
        reasons.append(explainer(row[None]).reasons[0])
        spent.append(time.process_time() - start)
    sharp = float(np.mean(list(map(_is_sharp, [explainer] * ROWS, some, reasons))))
    words = [reason.minimality for reason in reasons]
    proved = float(np.mean([word in {"minimum", "subset-minimal"} for word in words]))
    mean = float(np.mean(spent))
    cells = (
        name,
        kind,
        f"{np.median([reason.size for reason in reasons]):g}",
        f"{np.median([reason.size_lower for reason in reasons]):g}",
        f"{100 * sharp:.0f}%",
        f"{100 * proved:.0f}%",
        seconds(float(np.median(spent))),
        seconds(mean),
    )
    met = proved >= 0.8 and mean <= 0.5 and sharp == 1.0
    return Row(cells, "100%, >= 80%, 0.5 s", met)


def _is_sharp(
    explainer: SufficientReasonExplainer, row: np.ndarray, reason: SufficientReason
) -> bool:
    """Tell whether the size is bounded as well as before each rival alone."""
    model = explainer.linear_model
    assert isinstance(model, ArgmaxModel)
    winner = int(model.winners(model.check_rows(row[None]))[0])
    each = (
        sufficient_reason(duel, row, delta=reason.delta, distribution=explainer.distribution)
        for duel in model.duels(winner)
    )
    return all(min(alone.size_lower, reason.size) <= reason.size_lower for alone in each)
