"""Audits: what protected features have to do with the decisions of a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._explainer import SufficientReasonExplainer
from sklearn_probsr.model.numbers import exact_text
from sklearn_probsr.questions._asked_decision import Decision
from sklearn_probsr.results._listed import count, listed
from sklearn_probsr.results.views import card, line, strong, table

__all__ = ["CAUTION", "Audit", "audit"]

CAUTION = (
    "A reason that is free of a feature averages over it: that is no evidence that the feature is "
    "not used."
)


def audit(
    model: Any,
    X: Any,
    masker: Any = None,
    *,
    protected: Iterable[int | str],
    delta: float = 0.95,
    groups: Any = None,
) -> Audit:
    """Tell how far decisions rest on protected features.

    Parameters
    ----------
    model : fitted classifier or Pipeline, pair (coef, intercept), or LinearModel
        What decides.
    X : DataFrame, array-like or sparse of shape (n, columns)
        Rows as the model takes them.
    masker : None, "uniform", data, shap masker or distribution, default=None
        What may replace an unknown feature, as in `SufficientReasonExplainer`.
    protected : iterable of int or str
        The features to be audited.
    delta : float, default=0.95
        The probability that a reason guarantees.
    groups : mapping of str to list of str, or None, default=None
        Features that are known or unknown together; see `SufficientReasonExplainer`.

    Returns
    -------
    Audit

    Examples
    --------
    >>> from sklearn_probsr import LinearModel, audit
    >>> model = LinearModel([3, 2, 1], threshold=3, feature_names=["income", "home", "sex"])
    >>> found = audit(model, [[1, 1, 0], [1, 0, 1], [0, 1, 1]], protected=["sex"], delta=0.9)
    >>> found.summary["free"], found.summary["only_through"], found.summary["flips"]
    (0.6666666666666666, 0.3333333333333333, 0.3333333333333333)
    """
    explainer = SufficientReasonExplainer(model, masker, delta=delta, groups=groups)
    names = explainer.linear_model.unit_names
    barred = explainer.linear_model.check_features(protected, "protected")
    if not barred:
        raise InvalidInputError("protected must name the features to be audited, got none.")
    explained = explainer._explain(X, True, 2)
    # The same law, asked once more: nothing is adapted or tabulated a second time.
    question = explainer._question
    free = replace(question, options=replace(question.options, exclude=barred))
    without = free.answer(explained.reasons.rows, None, silent=True)
    others = [u for u in range(len(names)) if u not in barred]
    lines = []
    for i, reason in enumerate(explained.reasons):
        if reason.status == "invalid":
            lines.append(_invalid(reason.prediction))
            continue
        row = explained.reasons.rows[i]
        kept = explainer.law.view(row).answer(others, 1e-4)
        reached = without.status[i] == "ok"
        hopeless = not reached and Decision(
            explainer.law, row, explainer._question.options
        ).is_hopeless(barred)
        lines.append(
            {
                "prediction": reason.prediction,
                "reason_size": reason.size,
                "uses_protected": bool(set(reason.features) & set(barred)),
                "free": reached,
                "only_through": hopeless,
                "size_without": int(without.size[i]) if reached else np.nan,
                "guarantee_without_lower": float(without.lower[i]),
                "guarantee_without_upper": float(without.upper[i]),
                "flip_lower": 1 - kept.upper if kept.exact is None else float(1 - kept.exact),
                "flip_upper": 1 - kept.lower if kept.exact is None else float(1 - kept.exact),
                "status": reason.status,
            }
        )
    shown = explained.display_data if explained.display_data is not None else explained.data
    values = {names[u]: [shown[i, u] for i in range(len(lines))] for u in barred}
    index = list(explained.to_frame().index) if lines else []
    return Audit(
        tuple(names[u] for u in barred),
        float(delta),
        str(explainer.distribution),
        tuple(lines),
        values,
        index,
    )


def _invalid(prediction: Any) -> dict[str, Any]:
    nan = float("nan")
    return {
        "prediction": prediction, "reason_size": 0, "uses_protected": False, "free": False,
        "only_through": False, "size_without": nan, "guarantee_without_lower": nan,
        "guarantee_without_upper": nan, "flip_lower": nan, "flip_upper": nan, "status": "invalid",
    }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Audit:
    """What protected features have to do with some decisions; made by `audit`.

    Attributes
    ----------
    protected : tuple of str
        The features audited.
    delta : float
        The probability that was asked for.
    distribution : str
        What the guarantees speak of.
    lines : tuple of dict
        One for each row, as `to_frame` has them.
    values : dict of str to list
        The protected features of each row, as a person reads them.
    index : list
        What the rows are called.
    summary : dict
        Shares of the rows that could be explained: ``free`` (some reason has none of the protected
        features), ``only_through`` (proved: no reason without them), ``undecided``, and ``flips``
        (the class may change when they alone are replaced); the mean sizes; and ``caution``.
    """

    protected: tuple[str, ...]
    delta: float
    distribution: str
    lines: tuple[dict[str, Any], ...] = field(repr=False)
    values: dict[str, list[Any]] = field(repr=False)
    index: list[Any] = field(repr=False)

    def to_frame(self) -> Any:
        """Return one line for each row, with its index.

        Returns
        -------
        DataFrame
            With columns ``prediction``, ``reason_size``, ``uses_protected`` (of the reason with all
            features allowed), ``free``, ``only_through``, ``size_without``,
            ``guarantee_without_lower`` and ``guarantee_without_upper`` (of the best set without
            the protected features), ``flip_lower`` and ``flip_upper`` (how likely the class changes
            when they alone are replaced), ``status``, and the protected features.
        """
        import pandas as pd

        frame = pd.DataFrame(list(self.lines), columns=list(_invalid(None)), index=self.index)
        for name, column in self.values.items():
            frame[name if name not in frame.columns else f"protected: {name}"] = column
        return frame

    @property
    def summary(self) -> dict[str, Any]:
        """Shares and mean sizes over the rows that could be explained."""
        valid = [line for line in self.lines if line["status"] != "invalid"]
        n = max(len(valid), 1)
        free, only = (sum(line[key] for line in valid) for key in ("free", "only_through"))
        sizes = [line["size_without"] for line in valid if line["free"]]
        return {
            "rows": len(valid),
            "free": free / n,
            "only_through": only / n,
            "undecided": (len(valid) - free - only) / n,
            "flips": sum(line["flip_lower"] > 0 for line in valid) / n,
            "mean_size": float(np.mean([line["reason_size"] for line in valid])) if valid else None,
            "mean_size_without": float(np.mean(sizes)) if sizes else None,
            "caution": CAUTION,
        }

    def by_group(self, feature: str | None = None) -> Any:
        """Return shares, sizes and guarantees by class and by a protected feature's values.

        Parameters
        ----------
        feature : str or None, default=None
            One of the protected features; None: the first.

        Returns
        -------
        DataFrame
            One line for each class and value of the feature (numbers of more than ten values are
            cut at their median), with ``rows``, ``free``, ``only_through``, ``flips``,
            ``reason_size``, ``guarantee_without_lower``; the last two are means.
        """
        import pandas as pd

        name = self.protected[0] if feature is None else feature
        if name not in self.protected:
            raise InvalidInputError(
                f"feature must be one that was audited, {', '.join(map(repr, self.protected))}, "
                f"got {name!r}."
            )
        frame = self.to_frame()
        valid = (frame["status"] != "invalid").to_numpy()
        column = pd.Series(self.values[name], index=frame.index, dtype=object)[valid]
        frame = frame[valid]
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().all() and numbers.nunique() > 10:
            middle = numbers.median()
            column = pd.Series(
                np.where(numbers > middle, f"> {middle:g}", f"≤ {middle:g}"), index=column.index
            )
        frame = frame.assign(flips=frame["flip_lower"] > 0, rows=1)
        keys = [frame["prediction"].rename("class"), column.astype(str).rename(name)]
        how = {
            "rows": "sum", "free": "mean", "only_through": "mean", "flips": "mean",
            "reason_size": "mean", "guarantee_without_lower": "mean",
        }  # fmt: skip
        return frame.groupby(keys).agg(how)

    def __str__(self) -> str:
        told = self.summary
        names = listed(self.protected)
        return (
            f"Of {count(told['rows'], 'decision')}, {told['free']:.0%} have a reason without "
            f"{names} that keeps the class with probability {exact_text(self.delta)} over "
            f"{self.distribution}, and "
            f"{told['only_through']:.0%} can only be reached through {names} "
            f"({told['undecided']:.0%} undecided). In {told['flips']:.0%} the class may change "
            f"when {names} alone {'is' if len(self.protected) == 1 else 'are'} replaced. {CAUTION}"
        )

    def _repr_html_(self) -> str:
        groups = self.by_group().round(3).reset_index() if self.summary["rows"] else None
        head = line("Audit of ", strong(listed(self.protected)), head=True)
        told = [] if groups is None else [table(list(groups), groups.to_numpy().tolist())]
        return card(head, line(str(self)), *told)

    def plot(self, ax: Any = None, *, show: bool = True) -> Any:
        """Draw what becomes of the decisions of each class without the protected features.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None: on new ones.
        show : bool, default=True
            Whether to show the figure, as shap's plots do.

        Returns
        -------
        matplotlib Axes
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
        frame = self.to_frame()
        frame = frame[frame["status"] != "invalid"]
        classes = sorted(frame["prediction"].unique(), key=str)
        parts = {
            "a reason without them": ("#1e88e5", frame["free"]),
            "undecided": ("#bdbdbd", ~(frame["free"] | frame["only_through"])),
            "only through them": ("#ff0d57", frame["only_through"]),
        }
        left = np.zeros(len(classes))
        for word, (color, inside) in parts.items():
            shares = np.array([inside[frame["prediction"] == c].mean() for c in classes])
            ax.barh(
                [str(c) for c in classes], shares, left=left, color=color, label=word, height=0.6
            )
            left += shares
        ax.set_xlim(0, 1)
        ax.set_xlabel(f"share of decisions, at {self.delta:g}")
        ax.set_title(f"Without {listed(self.protected)}", fontsize=10, loc="left")
        ax.legend(ncols=3, fontsize=8, frameon=False, loc="lower left", bbox_to_anchor=(0, 1.12))
        ax.spines[["top", "right"]].set_visible(False)
        if show:
            plt.show()
        return ax
