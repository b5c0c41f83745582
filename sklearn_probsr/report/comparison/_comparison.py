"""Comparison: the frozen result of comparing reasons with SHAP, as tables, words and pictures.

In a notebook it is a card: its summary and its first rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.frames._flagged_rows import count_flagged
from sklearn_probsr.explain.frames._row_index import row_index
from sklearn_probsr.report.comparison._growth import Growth
from sklearn_probsr.report.comparison._shared_members import COUNTS
from sklearn_probsr.report.comparison._summary import summary, table_in_markdown
from sklearn_probsr.report.comparison._wide_tables import (
    filled,
    how_often,
    pieces,
    some_rows,
    sum_by_column,
)
from sklearn_probsr.results._listed import Names, count
from sklearn_probsr.results._scope import ALL, Scope
from sklearn_probsr.results.codec import atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sklearn_probsr.explain.rules._rule_cover import RuleCover
    from sklearn_probsr.explain.rules._rule_sets import Rules
    from sklearn_probsr.report._audit import Audit
from sklearn_probsr.report.comparison._compared import Compared
from sklearn_probsr.report.comparison._row_names import ids_of
from sklearn_probsr.report.comparison._summary import cell
from sklearn_probsr.results.views import SHOWN_ROWS, bound, bullets, card, line, table

__all__ = ["Comparison", "comparison_card"]

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


# What is a table of rows and features.
TABLES = ("shap_values", "values", "mask", "shared")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Sufficient reasons beside SHAP values, one row each; made by `compare`.

    Attributes
    ----------
    table : dict of str to ndarray
        The columns of `to_frame`.
    shap_values : ndarray of shape (n, features)
        Those of the second of two classes, or of the predicted one of more. Of large sparse rows,
        this, ``values`` and ``mask`` are kept by what is in them, and filled in whenever they are
        asked for.
    values : ndarray of shape (n, features)
        What each feature is: a number, or, where that says less, the fact in words ("job: clerk",
        "age in [30, 45)", "age is missing").
    mask : ndarray of bool, shape (n, features)
        Which features are in each reason.
    feature_names : tuple of str
        What the features are called.
    classes : tuple of labels
        What the model tells apart.
    delta : float
        The probability that was asked for.
    distribution : str
        What the guarantees speak of.
    others : tuple of str, default=()
        The names of other methods in the table.
    missing : dict of str to str, default={}
        Columns that could not be had, in some rows or in all, and why. Such a column is NaN there,
        or is not in the table.
    search : callable or None, default=None
        What finds `growth` when it is asked for.
    index : pandas Index or None, default=None
        What the rows are called: the index of the frame that was compared. None: by their numbers.
    left_out : str, default=""
        What the summary says of flagged rows that are not here any more.
    rules : str, default=""
        What every reason had to obey, in words: features that it must have, must not have, and how
        many at most. Empty: nothing.
    scope : Scope, default=Scope()
        The same as values: which sets were allowed.
    threshold : str, default=""
        From which predicted probability, or score, on the second of two classes is predicted, in
        words. Empty: where the score is 0, or the largest of several.
    shared : ndarray of int, shape (n, features), or None, default=None
        What each feature is among the minimum reasons of a row: 1 in some, 2 in every one, 4
        undecided, added up. None: nobody asked.
    """

    table: dict[str, NDArray[Any]]
    shap_values: NDArray[np.float64]
    values: NDArray[Any]
    mask: NDArray[np.bool_]
    feature_names: tuple[str, ...]
    classes: tuple[Any, ...]
    delta: float
    distribution: str
    others: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
    search: Callable[[], Growth] | None = field(default=None, repr=False)
    index: Any = field(default=None, repr=False)
    left_out: str = field(default="", repr=False)
    rules: str = ""
    scope: Scope = ALL
    threshold: str = ""
    shared: NDArray[np.int8] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", row_index(self.index, len(self)))
        fine = {"status": "ok", "message": ""}
        more = {name: np.full(len(self), word, dtype=object) for name, word in fine.items()}
        order = dict.fromkeys([*self.table, *more])
        object.__setattr__(self, "table", {name: (more | self.table)[name] for name in order})

    def __len__(self) -> int:
        return len(self.held("mask"))

    def to_frame(self) -> Any:
        """Return the table, one line for each row.

        Returns
        -------
        DataFrame
            ``prediction``, ``margin``, ``reason`` (feature names), ``reason_size``,
            ``guarantee_lower``, ``guarantee_upper``, ``minimality``; if not all sets were allowed,
            the ``scope`` that it speaks of ("of the features allowed"); ``sure_size`` (the size at
            delta = 1); ``abs_shap_size`` and ``signed_shap_size`` (how long a prefix of the
            features by abs(SHAP), and by SHAP value towards the prediction, must be to reach
            delta; NaN where the features that may be taken never do);
            ``top_shap_guarantee_lower`` and ``top_shap_guarantee_upper`` (of the
            ``reason_size`` features with the largest abs(SHAP)); ``signed_shap_guarantee_lower``
            and ``signed_shap_guarantee_upper`` (of as many by SHAP value towards the prediction);
            ``overlap`` (of those with the largest abs(SHAP) and the reason, Jaccard);
            ``shap_share`` (of the abs(SHAP) mass inside the reason);
            ``hurting`` (how many of those features speak against the prediction); ``status`` ("ok",
            "unreachable" or "invalid") and ``message``; ``probability``, which the estimator gives
            to the class that it predicts, if it gives any; ``true_class``, if `compare` was told.
            If `compare` was asked for the ``dependence``, over background rows
            ``independent_guarantee_lower`` and ``independent_guarantee_upper``, the reason's
            guarantee if the features were independent; over marginals ``joint_guarantee_lower``
            and ``joint_guarantee_upper``, that in the rows themselves. For each other method its
            ``_size``, ``_guarantee_lower``, ``_guarantee_upper`` and ``_overlap``. The index is
            that of the frame that was compared. If `compare` was asked for ``alternatives``,
            ``n_necessary`` and ``n_possible``, how many features are in every minimum reason and in
            some (NaN where that stays open), and ``undecided``, the names of those of which one or
            the other is. If it was told what features ``cost``, what each reason costs, and
            ``cost_lower``, below which no set reaches delta, as far as was proved.
        """
        import pandas as pd

        columns = {name: pd.Series(column) for name, column in self.table.items()}
        for name in {"reason", "undecided"} & {*columns}:
            columns[name] = pd.Series([Names(told) for told in self.table[name]], dtype=object)
        found = pd.DataFrame(columns).set_axis(self.index)
        for name, told in self.scope.column.items():
            found.insert(found.columns.get_loc("minimality") + 1, name, told)
        return found

    @cached_property
    def _explained(self) -> Comparison:
        """The rows that are not flagged, which is all that summaries and pictures tell of."""
        ok = self.table["status"] == "ok"
        if ok.all():
            return self
        at = np.flatnonzero(ok)
        told = {name: _without_gaps(name, column[at]) for name, column in self.table.items()}
        return replace(
            self,
            table=told,
            **self._kept(at),
            index=self.index[at],
            left_out=f"{len(ok) - len(at):,} of {count(len(ok), 'row')} "
            f"{'is' if len(ok) - len(at) == 1 else 'are'} left out of all that follows: "
            f"{count_flagged(self.table['status'])}.",
        )

    def _kept(self, at: NDArray[np.intp]) -> dict[str, Any]:
        """Return the tables of some rows, and what finds their growth."""
        held = {name: some_rows(self.held(name), at) for name in TABLES}
        return held | {"search": lambda: self.growth.take(at)}

    def held(self, name: str) -> Any:
        """Return a table as it is kept: of sparse rows, by what is in it."""
        return self.__dict__[name]

    def pieces(self) -> Iterator[Comparison]:
        """Yield the rows, as many at once as may be filled in."""
        for at in pieces(self.held("shap_values")):
            table = {name: column[at] for name, column in self.table.items()}
            yield replace(self, table=table, index=self.index[at], **self._kept(at))

    def features(self) -> Any:
        """Return how often each feature is in a reason, beside its mean abs(SHAP).

        Returns
        -------
        DataFrame
            One line for each class and feature, and for all rows together (class "all"), with
            ``rows``, ``in_reason`` (a share), ``mean_abs_shap``, and the rank of the feature by
            each, 1 being the first. Flagged rows do not count.
        """
        import pandas as pd

        if self._explained is not self:
            return self._explained.features()
        predictions = self.table["prediction"]
        groups = [("all", np.ones(len(self), dtype=np.bool_))]
        groups += [(label, predictions == label) for label in self.classes]
        parts = []
        for label, inside in groups:
            count = int(inside.sum())
            often = how_often(self.held("mask"), inside) / max(count, 1)
            mean = sum_by_column(self.held("shap_values"), inside) / max(count, 1)
            parts.append(
                pd.DataFrame(
                    {
                        "class": [label] * len(often),
                        "feature": self.feature_names,
                        "rows": count,
                        "in_reason": often,
                        "mean_abs_shap": mean,
                        "rank_by_reason": _ranks(often),
                        "rank_by_shap": _ranks(mean),
                    }
                )
            )
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> str:
        """Say in plain words what the table says; flagged rows are counted and left out."""
        return summary(self._explained)

    def plot(self) -> Figure:
        """Draw sizes side by side, guarantees of the top SHAP features, and ranks.

        Returns
        -------
        matplotlib Figure
            Without the rows that are flagged, as its title says.
        """
        from sklearn_probsr.report.comparison._picture import draw

        return draw(self._explained, self._explained.left_out)

    @cached_property
    def growth(self) -> Growth:
        """The reasons of every row at several levels of delta, found when first asked for."""
        if self.search is None:
            raise InvalidInputError("This comparison does not know how reasons grow.")
        return self.search()

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        rules: Rules | RuleCover | None = None,
        audit: Audit | None = None,
    ) -> None:
        """Write a page that explains every row, to read in any browser without Python.

        One file that asks nothing of a network: the summary, a table of the rows to sort and
        filter, the reason of each beside its SHAP values, and a slider for the guarantee, for
        which the reasons at several levels are searched first. The file appears when it is whole;
        one that was there before is replaced.

        Parameters
        ----------
        path : path-like
            Where the file is.
        title : str or None, default=None
            The headline; None: a general one.
        rules : Rules, RuleCover or None, default=None
            Rules that the page shows, too: those of `ReasonExplanation.rules`, of which it chooses
            a few that cover the most rows, or a few that `Rules.cover` chose.
        audit : Audit or None, default=None
            What `sklearn_probsr.audit` found, for a section on protected features.
        """
        from sklearn_probsr.report.page._page import page

        text = page(self, title, rules, audit).encode()
        atomically(Path(path), lambda file: file.write(text))

    def to_markdown(self, max_rows: int = 20) -> str:
        """Return the summary and the first rows as Markdown.

        Names and labels are shown as they are: what is HTML or a link in them is escaped.

        Parameters
        ----------
        max_rows : int, default=20
            The most rows to show.
        """
        flagged = self._explained is not self
        return table_in_markdown(self, max_rows, flagged)

    def __repr__(self) -> str:
        return f"Comparison(<{len(self)} rows, {len(self.feature_names)} features>)"

    def _repr_html_(self) -> str:
        return comparison_card(self)


class _Filled:
    """A table that is filled in when it is asked for, and kept as it was given."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, held: Comparison | None, owner: type) -> Any:
        return self if held is None else filled(held.held(self.name))

    def __set__(self, held: Comparison, value: Any) -> None:
        held.__dict__[self.name] = value


for _name in TABLES:  # after dataclass has made fields of them
    setattr(Comparison, _name, _Filled(_name))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return ranks from 1 on, the largest first, ties alike."""
    above: NDArray[np.int64] = np.searchsorted(np.sort(-values), -values, side="left")
    return above + 1


def _without_gaps(name: str, column: NDArray[Any]) -> NDArray[Any]:
    """Return sizes as whole numbers again, where nothing is unknown any more."""
    is_size = name.endswith("_size") or name in {"hurting", *COUNTS}
    if is_size and column.dtype.kind == "f" and np.isfinite(column).all():
        return column.astype(np.int64)
    return column
