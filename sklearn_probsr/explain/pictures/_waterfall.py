"""The waterfall of one reason: facts that carry a decision away from its average."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.pictures import _canvas as canvas
from sklearn_probsr.explain.pictures._canvas import BLUE, GREY, PALE, RED
from sklearn_probsr.explain.pictures._marks import legend_of, mark_of
from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.model.numbers import without_rounding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sklearn_probsr.explain._explanation import ReasonExplanation
    from sklearn_probsr.questions._alternatives import Alternatives
    from sklearn_probsr.results._reason import SufficientReason

__all__ = ["waterfall"]

# The least number of bars that there is room for, so that one of them is not a block.
_ROOM = 3


def waterfall(
    reason: ReasonExplanation,
    *,
    ax: Axes | None = None,
    max_display: int = 20,
    show: bool = False,
) -> Axes:
    """Draw how the features of one reason carry the decision function away from its average.

    Parameters
    ----------
    reason : ReasonExplanation
        Of one row: write ``reasons[0]``. Of ``reasons[0].as_guarantee()``, how the features, one
        after the other, raise the probability that the class is kept.
    ax : matplotlib Axes or None, default=None
        Where to draw; None: on a new figure.
    max_display : int, default=20
        The most bars to draw; the last features are summed up in one.
    show : bool, default=False
        Whether to call ``matplotlib.pyplot.show()``; else that is left to you, or to the notebook.

    Returns
    -------
    Axes
        The title says the guarantee, and over what. The decision function is measured from the
        threshold, so that the class changes at 0, the black line. A fact that speaks against the
        class has "although" before it. An empty reason is drawn as what it is: no fact is needed.
        Of an explanation that was asked for ``alternatives``, facts that every reason of this size
        has are marked with a full diamond, the others with an empty one.
    """
    one = canvas.batch(reason, "waterfall", ("ok", "unreachable"))
    if len(one.reasons) > 1:
        raise InvalidInputError(
            f"waterfall draws one row, this explanation has {len(one.reasons)}. Write reasons[0]."
        )
    told, base = one._told(0), float(one.base_values[0])
    others = None if one.alternatives is None else one.alternatives[0]
    bars = _bars(one, told, others, canvas.at_least_one(max_display, "max_display"))
    tall = max([1.0, *((1 + name.count("\n")) / 2 for name, _ in bars)])
    legend = legend_of(others)
    ax = canvas.axes(ax, 7.0, max(len(bars), _ROOM) * tall + 3.6 + 0.45 * len(legend))
    ends = base + np.cumsum([0.0, *(value for _, value in bars)])
    for i, (_, value) in enumerate(bars):
        _bar(ax, i, float(ends[i]), value)
    if not bars:
        ax.text(
            0.5, 0.5, "no fact is needed", transform=ax.transAxes, ha="center", va="center",
            color=GREY,
        )  # fmt: skip
    ax.axvline(base, color=PALE, linewidth=0.9, linestyle=(0, (3, 3)), zorder=0)
    ax.set_yticks(range(len(bars)), [name for name, _ in bars])
    ax.set_ylim(max(len(bars), _ROOM) - 0.4, -0.6)
    bound, name = (told.delta, "nothing known") if one.in_probability else (0.0, "average")
    low, high = ends.min(), ends.max()
    if one.in_probability or len(one.reasons.model.classes) == 2:  # else no number is a boundary
        ax.axvline(bound, color="black", linewidth=0.9, zorder=0)
        low, high = min(low, bound), max(high, bound)
    pad = 0.2 * ((high - low) or 1.0)
    ax.set_xlim(low - pad, high + pad)
    if one.in_probability:  # room for numbers beyond 1, but no ticks
        ax.set_xticks([tick for tick in ax.get_xticks() if low - pad <= tick <= 1])
    ax.set_xlabel("\n".join([_axis_name(one), *map(canvas.drawable, legend)]))
    ax.annotate(
        f"{name}\n{canvas.number(base, '')}", (base, 1.0), xycoords=("data", "axes fraction"),
        xytext=(0, 3), textcoords="offset points", ha="center", va="bottom", fontsize=8, color=GREY,
    )  # fmt: skip
    canvas.title(ax, [*_headline(told), *_runner_up(one)], pad=34)
    canvas.plain(ax)
    return canvas.done(ax, show)


def _bars(
    one: ReasonExplanation, told: SufficientReason, others: Alternatives | None, max_display: int
) -> list[tuple[str, float]]:
    """Return facts and values; by size, or in the order in which gains in probability are taken."""
    values = without_rounding(one.values[0])[list(told.features)].tolist()
    facts = [
        f"{canvas.drawable(mark_of(others, unit))}{'although ' if unit in told.against else ''}"
        f"{canvas.short_fact(fact, name)}"
        for unit, fact, name in zip(told.features, told.facts, told.feature_names, strict=True)
    ]
    bars = list(zip(facts, values, strict=True))
    if not one.in_probability:
        bars.sort(key=lambda bar: -abs(bar[1]))
    if len(bars) > max_display:
        rest = bars[max_display - 1 :]
        bars = [*bars[: max_display - 1], (f"{len(rest)} more facts", sum(v for _, v in rest))]
    return bars


def _bar(ax: Axes, i: int, start: float, value: float) -> None:
    up = value >= 0
    ax.barh(i, value, left=start, height=0.62, color=RED if up else BLUE)
    ax.annotate(
        canvas.number(value), (start + value, i), xytext=(4 if up else -4, 0),
        textcoords="offset points", ha="left" if up else "right", va="center", fontsize=9,
        color=RED if up else BLUE, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )  # fmt: skip
    if i:
        ax.plot([start, start], [i - 0.69, i - 0.31], color=PALE, linewidth=0.8)


def _axis_name(one: ReasonExplanation) -> str:
    if one.in_probability:
        return canvas.drawable(f"{one.output_names} (line: delta)")
    if len(one.reasons.model.classes) > 2:
        return f"score of {canvas.short(one.reasons[0].prediction, 40)}"
    first, second = (canvas.short(label, 20) for label in one.reasons.model.classes)
    middle = "decision function (0: the boundary)"
    line = f"{first}  ←  {middle}  →  {second}"
    return line if len(line) <= 64 else f"{middle}\n{first}  ←  →  {second}"


def _runner_up(one: ReasonExplanation) -> list[str]:
    """Say which class comes next, and how far behind it is, if there are more than two."""
    model = one.reasons.model
    if len(model.classes) == 2:
        return []
    weights, constants = model.outputs
    scores = weights @ one.reasons.rows[0].astype(np.float64) + constants
    own = int(model.winners(one.reasons.rows[:1])[0])
    behind = np.where(np.arange(len(scores)) == own, np.inf, scores[own] - scores)
    next_one = int(np.argmin(behind))
    name = canvas.short(model.classes[next_one], 24)
    return [f"runner-up: {name}, behind by {canvas.number(float(behind[next_one]), '')}"]


def _headline(told: SufficientReason) -> list[str]:
    known = told.guarantee
    sure = lower_text(known.lower if known.exact is None else known.exact, 4)
    trust = [f"with confidence {lower_text(known.confidence, 6)},"] if known.confidence < 1 else []
    count = {0: "whatever the features are", 1: "given this 1 fact"}
    short = [f"(short of {told.delta:g}, which is out of reach)"]
    return [
        f"Class {canvas.short(told.prediction, 24)}, kept with probability ≥ {sure}",
        *(short if told.status == "unreachable" else []),
        *trust,
        f"{count.get(told.size, f'given these {told.size} facts')},",
        f"over {told.distribution}",
    ]
