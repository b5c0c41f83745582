"""The picture of rules: how many rows each speaks of, and for how many of them it is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.pictures import _canvas as canvas
from sklearn_probsr.explain.pictures._canvas import BLUE, PALE, RED
from sklearn_probsr.explain.rules._rule_cover import RuleCover
from sklearn_probsr.explain.rules._rule_sets import Rules
from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.rules._rule import Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["rules"]

# The longest line of a rule in words, and how many lines there are at most.
_WIDTH, _LINES = 46, 5


def rules(
    told: Rules | RuleCover, *, ax: Axes | None = None, max_display: int = 10, show: bool = False
) -> Axes:
    """Draw the share of rows that each rule speaks of, and how many of those have its class.

    Parameters
    ----------
    told : Rules or RuleCover
        Of a cover the rules are drawn in the order in which they were chosen; of other rules those
        that speak of most rows, equal ones once.
    ax : matplotlib Axes or None, default=None
        Where to draw; None: on a new figure.
    max_display : int, default=10
        The most rules to draw.
    show : bool, default=False
        Whether to call ``matplotlib.pyplot.show()``; else that is left to you, or to the notebook.

    Returns
    -------
    Axes
        With one bar for each rule, in the colour of its class as far as rows have the class, and
        grey for the others; the guarantee is written beside it.
    """
    held, shares, right, heading = _bars(told, canvas.at_least_one(max_display, "max_display"))
    texts = [_wrapped(rule) for rule in held]
    lines = sum(text.count("\n") + 1.6 for text in texts)
    ax = canvas.axes(ax, 8.0, 0.45 * lines + 2.6)
    model = held[0].model
    palette = [BLUE, RED] if len(model.classes) == 2 else [f"C{k}" for k in range(10)]
    seen: set[str] = set()
    for k, rule in enumerate(held):
        name = canvas.short(rule.prediction, 24)
        colour = palette[model.classes.index(rule.prediction) % len(palette)]
        label = None if name in seen else f"class {name}"
        seen.add(name)
        ax.barh(k, right[k], height=0.62, color=colour, label=label)
        ax.barh(k, shares[k] - right[k], left=right[k], height=0.62, color=PALE)
        known = rule.guarantee
        sure = lower_text(known.lower if known.exact is None else known.exact, 3)
        ax.annotate(
            f" ≥ {sure}", (shares[k], k), xytext=(2, 0), textcoords="offset points", va="center",
            fontsize=9,
        )  # fmt: skip
    ax.barh(0, 0, color=PALE, label="other classes")
    ax.set_yticks(range(len(held)), texts, fontsize=9)
    ax.set_ylim(len(held) - 0.4, -0.6)
    ax.set_xlim(0, max(float(np.max(shares)) * 1.16, 1e-3))
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
    ax.set_xlabel("rows that satisfy the rule; beside it, the guarantee")
    ax.legend(frameon=False, loc="lower right", fontsize=9)
    canvas.title(ax, heading, pad=8, width=80)
    canvas.plain(ax)
    return canvas.done(ax, show)


def _bars(
    told: Any, most: int
) -> tuple[list[Rule], NDArray[np.float64], NDArray[np.float64], list[str]]:
    """Return rules, the share of rows of each, and the share that has its class too."""
    if isinstance(told, RuleCover):
        held = list(told)[:most]
        n = max(told.n_rows, 1)
        shares, right = told.matching[:most] / n, told.right[:most] / n
        heading = [f"{told.covered} of {told.n_rows} rows satisfy one of {len(told)} rules"]
    elif isinstance(told, Rules):
        if len(told) and np.isnan(told.coverage).any():
            raise InvalidInputError(
                "rules draws shares of rows, and there are none to count over: the explainer has "
                "no background. Pass some to explanation.rules(X)."
            )
        first = {(rule.text, str(rule.prediction)): i for i, rule in reversed([*enumerate(told)])}
        at = sorted(first.values(), key=lambda i: (-told.coverage[i], i))[:most]
        held = [told[i] for i in at]
        shares = told.coverage[at]
        right = np.nan_to_num(told.precision[at]) * shares
        heading = [f"{len(held)} of {len(first)} different rules of {len(told)} rows"]
    else:
        raise InvalidInputError(
            f"rules draws Rules or a RuleCover, got {type(told).__name__}. Write "
            "plots.rules(explanation.rules())."
        )
    if not held:
        raise InvalidInputError("rules needs at least one rule to draw, here is none.")
    return held, shares, right, [*heading, f"over {held[0].distribution}"]


def _wrapped(rule: Rule) -> str:
    """Return a rule in words, a line for each condition."""
    lines = [canvas.short(condition.text, _WIDTH) for condition in rule.conditions]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], f"{len(lines) - _LINES + 1} more conditions"]
    return "\nand ".join(lines) or rule.text
