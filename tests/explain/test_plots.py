"""Our pictures: what they say, where they draw, and that they still look as they did.

`PROBSR_NEW_IMAGES=1 pytest tests/explain/test_plots.py` draws the images beside it anew; look at
them before you commit them.
"""

import copy
import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from PIL import Image
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_probsr import (
    ArgmaxModel,
    Comparison,
    LinearModel,
    ReasonExplanation,
    SufficientReasonExplainer,
    compare,
    guarantee,
    plots,
)
from sklearn_probsr.exceptions import InvalidInputError
from tests.explained import classifier, explanation, mixed_explanation, tumours

IMAGES = Path(__file__).with_name("images")
RED, BLUE = to_rgba("#ff0051"), to_rgba("#008bfb")
PLOTS = (plots.waterfall, plots.curve, plots.frequency, plots.reasons_heatmap)


@pytest.fixture(autouse=True)
def canvas(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Draw without a screen, in the default style, and refuse to show anything."""

    def show(*_: Any, **__: Any) -> None:
        pytest.fail("a plot called plt.show")

    monkeypatch.setattr(plt, "show", show)
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.use("agg")
        yield
    plt.close("all")


@cache
def empty() -> ReasonExplanation:
    """Return a reason without a feature: the class is certain anyway."""
    model = LinearModel([1.0, 1.0, 1.0], -1.0, classes=("no", "yes"))
    return SufficientReasonExplainer(model)([[1, 0, 1]])


@cache
def wordy() -> ReasonExplanation:
    """Return reasons of many features with long names, which differ at their ends."""
    names = [f"a name that goes on and on until it comes to number {i}" for i in range(30)]
    classes = ("the first of two long names", "the second of two long names")
    weights = np.r_[5.0, 1.0, -3.0, 2.0, -1.0, np.full(25, 0.3)]
    model = LinearModel(weights, 5, feature_names=names, classes=classes)
    rows = np.random.default_rng(0).integers(0, 2, (30, 30))
    return SufficientReasonExplainer(model, delta=0.999)(rows)


@cache
def comparison(rows: int = 40) -> Comparison:
    """Return reasons beside SHAP values of rows of binary columns."""
    X, _, _ = tumours()
    return compare(classifier(), X[400 : 400 + rows], X[:400])


@cache
def wordy_comparison() -> Comparison:
    """Return a comparison with long names, and with two other methods of long names."""
    told = wordy().reasons
    others = {
        "one method that has a long name": [[0, 1]] * len(told),
        "another method that has a longer name": [range(9)] * len(told),
    }
    return compare(told.model, told.rows, delta=0.999, others=others)


def texts(ax: Any) -> list[str]:
    """Return what is written inside the axes."""
    return [text.get_text() for text in ax.texts]


def ticks(ax: Any) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def bars(ax: Any) -> list[tuple[float, float, Any]]:
    """Return where each bar starts, how long it is, and its colour."""
    return [(bar.get_x(), bar.get_width(), bar.get_facecolor()) for bar in ax.patches]


def title(ax: Any) -> str:
    return ax.get_title(loc="left")


def refused(message: str) -> Any:
    return pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$")


@cache
def shared() -> ReasonExplanation:
    """Return reasons that were asked for what every other of their size has."""
    model = LinearModel([5, 2, 2, 2, 1], threshold=7, feature_names=list("abcde"))
    rows = [[1, 1, 1, 1, 1], [1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 1]]
    return SufficientReasonExplainer(model, delta=0.9)(rows, alternatives=True)


# --- Where they draw -------------------------------------------------------------------------


@pytest.mark.parametrize("plot", PLOTS)
def test_plots_return_axes_and_take_them(plot: Callable[..., Any]):
    """A figure of its own, or the axes given and nothing else."""
    found = explanation()[0]
    ax = plot(found)
    assert isinstance(ax, plt.Axes)
    figure, (left, right) = plt.subplots(1, 2)
    assert plot(found, ax=right) is right
    assert not left.has_data()
    assert len(figure.axes) == 2
    assert plt.get_fignums() == [1, 2]


@pytest.mark.parametrize("plot", PLOTS)
def test_plots_refuse_what_they_cannot_draw(plot: Callable[..., Any]):
    """No rows, some of the features, an aggregate, no room; with the name of the plot."""
    name = plot.__name__
    with refused(f"{name} needs at least one row, this explanation has none."):
        plot(explanation()[:0])
    with refused(
        f"{name} needs all 30 features in their order, this explanation has 3 of them. Slice rows "
        "only, as in reasons[:10]."
    ):
        plot(explanation()[0, :3])
    with refused(
        f"{name} draws a ReasonExplanation, got Explanation. An aggregate, such as mean(0), is no "
        "longer made of reasons."
    ):
        plot(explanation().mean(0))
    most = "max_size" if plot is plots.curve else "max_display"
    for wrong in (0, -1, 2.5, True):
        with refused(f"{most} must be a whole number >= 1, got {wrong!r}."):
            plot(explanation()[0], **{most: wrong})
    assert not plt.get_fignums()


def test_a_waterfall_is_of_one_row():
    """Several rows are refused; a batch of one is one."""
    with refused("waterfall draws one row, this explanation has 3. Write reasons[0]."):
        plots.waterfall(explanation()[:3])
    assert texts(plots.waterfall(explanation()[:1])) == texts(plots.waterfall(explanation()[0]))


# --- What they say ---------------------------------------------------------------------------


def test_a_waterfall_shows_the_reason_alone():
    """One bar a fact, by size, end to end from the average; the guarantee in the title."""
    one = mixed_explanation()[0]
    ax = plots.waterfall(one)
    assert title(ax) == (
        "Class granted, kept with probability ≥ 0.9833\n"
        "given these 2 facts,\n"
        "over replacement by 120 background rows"
    )
    assert ticks(ax) == ["age ≥ 63", "smoker: no"]
    drawn = bars(ax)
    assert drawn[0][0] == pytest.approx(one.base_values)
    assert drawn[1][0] == pytest.approx(sum(drawn[0][:2]))
    assert sum(drawn[1][:2]) == pytest.approx(one.base_values + one.reason_only.values.sum())
    assert [colour for *_, colour in drawn] == [BLUE, BLUE]
    assert texts(ax) == ["\N{MINUS SIGN}2.06", "\N{MINUS SIGN}1.19", "average\n0.707"]
    assert ax.get_xlabel() == "granted  ←  decision function (0: the boundary)  →  refused"
    low, high = ax.get_xlim()
    assert low < sum(drawn[1][:2])
    assert high > one.base_values


def test_a_waterfall_shows_no_rounding():
    """What an imputer filled in contributes nothing, or 1e-16 after a scaler."""
    _, X, y = tumours()
    X = X.iloc[:, :2].assign(gap=X.iloc[:, 2].where(np.arange(len(X)) % 7 > 0))
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(X, y)
    one = SufficientReasonExplainer(model, X, include=["gap"])(X[::7])[0]
    assert 0 < abs(one[2].values) < 1e-12
    assert "+0" in texts(plots.waterfall(one))


def test_an_empty_waterfall_is_honest():
    """No stubs of features that are not in the reason: nothing is needed, and it says so."""
    ax = plots.waterfall(empty()[0])
    assert bars(ax) == []
    assert ticks(ax) == []
    assert texts(ax) == ["no fact is needed", "average\n2.5"]
    assert title(ax) == (
        "Class yes, kept with probability ≥ 1\nwhatever the features are,\nover uniform completions"
    )


def test_a_waterfall_of_probabilities():
    """In the order of the reason, up to the guarantee; its axis is not called a margin."""
    one = explanation()[0].as_guarantee()
    ax = plots.waterfall(one)
    drawn = bars(ax)
    facts = explanation().reasons[0].facts
    assert ticks(ax) == list(facts)
    assert drawn[0][0] == pytest.approx(one.base_values)
    assert sum(drawn[-1][:2]) == pytest.approx(one.guarantee_lower)
    assert texts(ax)[-1] == "nothing known\n0.445"
    assert ax.get_xlabel() == "probability that class malignant is kept (line: delta)"
    assert max(ax.get_xticks()) <= 1


def test_a_waterfall_of_an_estimate_says_how_sure_it_is():
    """A confidence belongs to the title; it is rounded down."""
    X, _, _ = tumours()
    found = SufficientReasonExplainer(
        classifier(), X[:400], method="monte-carlo", epsilon=0.05, seed=0
    )(X[400:401])
    lines = title(plots.waterfall(found)).splitlines()
    assert lines[:2] == [
        "Class malignant, kept with probability ≥ 0.8999",
        "with confidence 0.999999,",
    ]


def test_many_facts_are_summed_up():
    """The bars stay true: the last one holds what is left."""
    one = explanation()[0]
    ax = plots.waterfall(one, max_display=4)
    assert ticks(ax)[3] == "4 more facts"
    assert len(bars(ax)) == 4
    assert sum(bars(ax)[-1][:2]) == pytest.approx(one.base_values + one.reason_only.values.sum())
    assert ticks(plots.waterfall(one, max_display=1)) == ["7 more facts"]


def test_long_names_stay_different():
    """They are cut in the middle; classes too, and everything stays inside the picture."""
    i = int(np.flatnonzero(wordy().reason_size > 5)[0])
    for plot, found in (
        (plots.waterfall, wordy()[i]),
        (plots.frequency, wordy()),
        (plots.reasons_heatmap, wordy()),
        (plots.curve, wordy()[:3]),
    ):
        ax = plot(found)
        ax.figure.canvas.draw()
        if plot is not plots.curve:
            assert len(set(ticks(ax))) == len(ticks(ax)) > 5
        wide = ax.figure.bbox.width
        written = [ax.xaxis.label, ax._left_title, *ax.get_yticklabels(), *ax.texts]
        for text in written:
            box = text.get_window_extent()
            assert box.x0 >= -1, text
            assert box.x1 <= wide + 1, text
        assert ax.bbox.width > 0.4 * wide


ODD = {
    "the_amount_that_the_applicant_has_asked_for_in_this_year": [
        "= 1",
        "< 2 & 'three'",
        'say "no"',
    ],
    "職業": ["教師", "看護師", "$x$ and $y$"],
    "a very long name of a column with categories": [
        "a category whose name is much longer than there is room for in one line of a label",
        "another category whose name is as long, of which nothing may be left out either",
        "c",
    ],
}


@cache
def odd() -> ReasonExplanation:
    """Return reasons of three classes over categories with all kinds of signs in them."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({name: rng.choice(values, 90) for name, values in ODD.items()})
    codes = sum((k + 1) * X[name].map(values.index) for k, (name, values) in enumerate(ODD.items()))
    y = pd.cut(codes + rng.normal(0, 0.3, 90), 3, labels=["低 $", "mid", "high"]).astype(str)
    model = make_pipeline(OneHotEncoder(), LogisticRegression(C=9)).fit(X, y)
    return SufficientReasonExplainer(model, X, delta=0.97)(X[:20])


def test_a_label_never_cuts_a_value():
    """The name is cut in the middle; what the font lacks is told by its number, unwarned."""
    found = odd()
    i = int(np.argmax(found.reason_size))
    assert found.reason_size[i] == 3
    told, ax = found.reasons[i], plots.waterfall(found[i])
    ax.figure.canvas.draw()  # a glyph that is missing would be a warning, and so an error
    shown = " ".join(" ".join(ticks(ax)).replace("\n", " ").replace("\\$", "$").split())
    for name, fact in zip(told.feature_names, told.facts, strict=True):
        value = fact.removeprefix(name)
        assert value.encode("ascii", "backslashreplace").decode().strip() in shown
    assert "the_amount_that_the_applicant" not in shown
    assert "\\u8077\\u696d: " in shown
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert min(box.x0 for box in boxes) >= 0
    assert all(above.y0 >= below.y1 - 1 for above, below in itertools.pairwise(boxes))
    for plot in (plots.frequency, plots.reasons_heatmap, plots.curve):
        plot(found[:8]).figure.canvas.draw()


def test_several_classes_name_the_runner_up():
    """The class that comes next, and how far behind it is."""
    found = odd()
    model, rows = found.reasons.model, found.reasons.rows
    scores = rows @ model.weights.T + model.intercepts
    for i in range(4):
        first, second = np.argsort(-scores[i])[:2]
        assert model.classes[first] == found.prediction[i]
        name = model.classes[second].encode("ascii", "backslashreplace").decode()
        line = title(plots.waterfall(found[i])).split("\n")[-1].replace("\\$", "$")
        assert line == f"runner-up: {name}, behind by {scores[i, first] - scores[i, second]:.3g}"
    assert "runner-up" not in title(plots.waterfall(explanation()[0]))


def test_a_waterfall_marks_what_every_reason_of_its_size_has():
    """A full diamond is before a fact that every reason has, an empty one before others."""
    ax = plots.waterfall(shared()[0])
    assert ticks(ax) == ["◆ a = 1", "◇ b = 1"]
    assert ax.get_xlabel().split("\n")[1:] == [
        "◆ in every reason of this size, ◇ in some of them",
        "2 more features are in some of them",
    ]
    told = shared().reasons
    plain = SufficientReasonExplainer(told.model, delta=0.9)(told.rows)
    assert ticks(plots.waterfall(plain[0])) == ["a = 1", "b = 1"]


def test_what_is_open_is_marked_as_open():
    """A fact that may be in every reason has a question mark, and no diamond."""
    open_ones = copy.copy(shared()[:1])
    one = open_ones.alternatives[0]
    open_ones._others = (replace(one, necessary=(), undecided=(0, 4)),)
    ax = plots.waterfall(open_ones[0])
    assert ticks(ax) == ["(?) a = 1", "◇ b = 1"]
    assert ax.get_xlabel().split("\n")[1:] == [
        "◇ in some of them, (?) in some, perhaps in every one",
        "2 more features are in some of them",
        "of 1 feature that is undecided",
    ]
    unproved = replace(one, reason=replace(one.reason, minimality="subset-minimal"))
    open_ones._others = (replace(unproved, necessary=(), possible=(), undecided=(0, 1, 2)),)
    ax = plots.waterfall(open_ones[0])
    assert ticks(ax) == ["a = 1", "b = 1"]
    assert ax.get_xlabel().endswith("\nnot proved to be the smallest: others are not known")
    assert "in 1 row of some features it stays undecided" in title(plots.frequency(open_ones))
    assert "in 1 row of some features it" in plots.reasons_heatmap(open_ones).get_xlabel()


def test_frequencies_show_what_every_reason_and_some_reason_has():
    """Beside each share: of the rows whose reasons all have the feature, and of which some do."""
    found = shared()
    ax = plots.frequency(found)
    order = ticks(ax)
    others, won = found.alternatives, found.prediction
    sides = {1: {}, 0: {}}
    for side, told in sides.items():
        rows = [one for one, label in zip(others, won, strict=True) if label == side]
        for group in ("necessary", "possible"):
            told[group] = [
                sum("abcde".index(u) in getattr(one, group) for one in rows) / len(rows)
                for u in order
            ]
    width, bars_of = len(order), [bar.get_width() for bar in ax.patches]
    parts = [bars_of[k : k + width] for k in range(0, len(bars_of), width)]
    assert len(parts) == 6  # for each class the share, that of some, that of every
    assert parts[1] == pytest.approx(sides[0]["possible"])
    assert parts[2] == pytest.approx(sides[0]["necessary"])
    assert parts[4] == pytest.approx(sides[1]["possible"])
    assert parts[5] == pytest.approx(sides[1]["necessary"])
    keys = [text.get_text() for text in ax.get_legend().get_texts()]
    assert keys[-2:] == ["in some of that size", "in every reason of that size"]


def test_marks_say_of_which_sets_they_speak():
    """Every reason of a size is one of the features allowed, where some are not."""
    model = LinearModel([5, 2, 2, 2, 1], threshold=7, feature_names=list("abcde"))
    found = SufficientReasonExplainer(model, delta=0.9, exclude=["d"])(
        [[1, 1, 1, 1, 1], [0, 1, 0, 1, 1]], alternatives=True
    )
    told = "in every reason of this size of the features allowed"
    assert told in plots.waterfall(found[0]).get_xlabel().replace("\n", " ")
    keys = [text.get_text() for text in plots.frequency(found).get_legend().get_texts()]
    assert keys[-1] == "in every reason of that size of the features allowed"
    assert "that size of the features allowed" in plots.reasons_heatmap(found).get_xlabel()
    rows = np.random.default_rng(0).integers(0, 2, (30, 4))
    several = ArgmaxModel([[3, 1, 0, 0], [0, 3, 1, 0], [0, 0, 2, 2]], [0.5, 0.25, 0])
    found = SufficientReasonExplainer(several, rows, delta=0.6, exclude=[3])(
        rows, alternatives=True, silent=True
    )
    told = "small: in every reason of that size of the features allowed, to in some of them"
    assert plots.frequency(found).get_xlabel().endswith(told)


def test_heatmaps_mark_cells_of_every_reason_and_of_others():
    """A line runs through cells that every reason has, and those of other reasons are grey."""
    found = shared()
    ax = plots.reasons_heatmap(found)
    assert "\ngrey: in another reason of that size; line: in every one" in ax.get_xlabel()
    others = list(found.alternatives)
    lines = [line for line in ax.collections if line.get_linewidth()[0] == 1.6]
    assert sum(len(line.get_segments()) for line in lines) == sum(
        len(one.necessary) for one in others
    )
    grey = [np.ma.filled(image.get_array(), np.nan) for image in ax.images][-1]
    assert np.isfinite(grey).sum() == sum(
        len(set(one.possible) - set(one.reason.features)) for one in others
    )


def test_several_classes_have_both_shares_in_the_table():
    """Under a share stand those of the rows in which every reason, and some, has the feature."""
    rows = np.random.default_rng(0).integers(0, 2, (30, 4))
    model = ArgmaxModel([[3, 1, 0, 0], [0, 3, 1, 0], [0, 0, 2, 2]], [0.5, 0.25, 0])
    found = SufficientReasonExplainer(model, rows, delta=0.8)(rows, alternatives=True)
    ax = plots.frequency(found)
    assert ax.get_xlabel().endswith("small: in every reason of that size, to in some of them")
    own = found.prediction == 0
    some = [one for one, inside in zip(found.alternatives, own, strict=True) if inside]
    shares = [
        100 * sum(0 in group for group in groups) / len(some)
        for groups in ([o.necessary for o in some], [o.possible for o in some])
    ]
    place = next(i for i, name in enumerate(ticks(ax)) if name == found.reasons.model.unit_names[0])
    small = {tuple(np.round(t.get_position(), 2)): t.get_text() for t in ax.texts}
    assert small[(0, place + 0.3)] == f"{shares[0]:.0f} to {shares[1]:.0f}%"


def test_a_curve_holds_the_enclosures():
    """The guarantee of every size, the level, and a dot at the reason."""
    one = explanation()[0]
    ax = plots.curve(one)
    reasons = one.reasons
    model, row, first = reasons.model, reasons.rows[0], reasons[0].features
    line, dot, level = ax.lines
    for k in range(8):  # the reason's features come first
        known = guarantee(model, row, first[:k], distribution=one.distribution)
        assert line.get_ydata()[k] == known.lower
    assert len(line.get_ydata()) == 12
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (7, one.guarantee_lower)
    assert set(level.get_ydata()) == {0.95}
    assert texts(ax) == ["delta = 0.95"]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["reason: malignant, 7 facts"]
    assert title(ax) == "over replacement by 400 background rows"
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == min(line.get_ydata())
    assert band.max() >= max(line.get_ydata())
    assert ax.get_ylabel() == "probability that the class is kept"


def test_a_curve_of_several_rows():
    """Rows that are alike share a line and are named together; many become a band."""
    ax = plots.curve(mixed_explanation()[:5])
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["row 0: granted, 2 facts", "rows 1, 2, 3, 4: refused, 1 fact"]
    ax = plots.curve(mixed_explanation()[[7, 1, 3]])  # by their names, not by their places here
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text.split(":")[0] for text in legend] == ["row 7", "rows 1, 3"]
    ax = plots.curve(mixed_explanation(), max_size=2)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["middle half", "median of 20 rows"]
    assert ax.lines[0].get_xdata().tolist() == [0, 1, 2]


def test_frequencies_are_shares_of_a_class():
    """Two bars a feature, those that matter most first; features in no reason are left out."""
    found = mixed_explanation()
    ax = plots.frequency(found)
    granted = found.prediction == "granted"
    assert ticks(ax) == ["age", "job", "savings", "smoker"]
    widths = [width for _, width, _ in bars(ax)]
    assert widths == pytest.approx(
        [*found.reason_mask[granted].mean(axis=0), *found.reason_mask[~granted].mean(axis=0)]
    )
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["granted (6 rows)", "refused (14 rows)"]
    assert title(ax) == "delta = 0.9, over replacement by 120 background rows"
    assert ax.get_xlabel() == "rows whose reason holds the feature"
    few = plots.frequency(explanation(), max_display=10)
    assert few.get_xlabel() == "rows whose reason holds the feature\n(1 rarer one is not shown)"
    assert len(ticks(few)) == 10
    one = plots.frequency(found[0]).get_legend().get_texts()
    assert [text.get_text() for text in one] == ["granted (1 row)"]


def test_a_heatmap_of_reasons():
    """Cells are the mask, coloured by direction, rows by class and size."""
    found = explanation()
    ax = plots.reasons_heatmap(found)
    cells = ax.images[0].get_array()
    assert np.isfinite(np.ma.filled(cells, np.nan)).sum() == found.reason_mask.sum()
    assert ticks(ax)[0] == "worst concave points  95%"
    assert texts(ax) == ["benign (30)", "malignant (10)"]
    assert ax.get_xlabel() == (
        "rows, by class, then by the size of the reason\nblue speaks for benign, red for malignant"
    )
    filled = np.ma.filled(cells, 0.0)
    assert (filled[:, :30] <= 0).all()
    assert (filled[:, 30:] >= 0).all()
    view = plots.reasons_heatmap(found.as_guarantee()).images[0].get_array()
    assert np.array_equal(np.ma.filled(view, 0.0), filled)


@pytest.mark.parametrize("plot", [plots.frequency, plots.reasons_heatmap])
def test_pictures_without_a_feature_say_so(plot: Callable[..., Any]):
    """An empty picture would look like a mistake."""
    assert "no reason holds a feature" in texts(plot(empty()))


# --- Comparisons -------------------------------------------------------------------------------


def test_a_comparison_counts_sizes():
    """One lane for each way to choose features, with the median; bars are the table's counts."""
    found = comparison()
    ax = found.plot().axes[0]
    assert ticks(ax) == ["the reason", "by SHAP\ntowards the class", "by |SHAP|", "for certain"]
    names = ("reason_size", "signed_shap_size", "abs_shap_size", "sure_size")
    assert texts(ax) == [f"{np.median(found.table[name]):g}" for name in names]
    for lane, name in zip(ax.containers, names, strict=True):
        counts = np.bincount(found.table[name], minlength=len(lane))
        heights = np.array([-bar.get_height() for bar in lane])
        np.testing.assert_allclose(heights / heights.max(), counts / counts.max())
    assert ax.get_xlabel() == "features needed (number: median)"


def test_a_comparison_shows_how_sure_each_row_is():
    """The rows by what |SHAP| keeps; the title counts those that reach delta."""
    found = comparison()
    figure = found.plot()
    ax = figure.axes[1]
    ours, signed, top, level = ax.lines
    order = np.lexsort((found.table["guarantee_lower"], found.table["top_shap_guarantee_lower"]))
    assert np.array_equal(ours.get_ydata(), found.table["guarantee_lower"][order])
    assert np.array_equal(top.get_ydata(), found.table["top_shap_guarantee_lower"][order])
    signed_lower = found.table["signed_shap_guarantee_lower"]
    assert np.array_equal(signed.get_ydata(), signed_lower[order])
    assert (np.diff(top.get_ydata()) >= 0).all()
    assert set(level.get_ydata()) == {0.95}
    reach = (found.table["top_shap_guarantee_lower"] >= 0.95).sum()
    enough = (signed_lower >= 0.95).sum()
    assert title(ax) == f"How sure? By |SHAP| {reach}, signed {enough} of 40"
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["the reason", "by signed SHAP", "as many by |SHAP|"]
    assert figure.get_suptitle() == "40 rows, delta = 0.95, over replacement by 400 background rows"


def test_a_comparison_ranks_features():
    """Features that are first by either ranking, with their ranks."""
    found = comparison()
    ax = found.plot().axes[2]
    table = found.features()
    table = table[table["class"] == "all"].set_index("feature").loc[ticks(ax)]
    reasons, values = ([bar.get_width() for bar in group] for group in ax.containers)
    assert reasons == pytest.approx(table["in_reason"].tolist())
    np.testing.assert_allclose(
        values, table["mean_abs_shap"] / np.abs(found.shap_values).mean(axis=0).max()
    )
    assert texts(ax) == [
        *map(str, table["rank_by_reason"]),
        *map(str, table["rank_by_shap"]),
    ]
    assert len(table) == 10
    assert set(range(1, 5)) <= {*table["rank_by_reason"], *table["rank_by_shap"]}


def test_many_rows_are_lines_and_many_sizes_are_grouped():
    """Six hundred dots would be a smear, sixty lanes of bars a comb."""
    rng = np.random.default_rng(1)
    weights = rng.standard_normal(60)
    model = LinearModel(weights, weights.sum() / 2)
    left, middle, _ = compare(model, rng.integers(0, 2, (301, 60))).plot().axes
    assert all(len(lane) <= 41 for lane in left.containers)
    assert [line.get_marker() for line in middle.lines[:2]] == ["None", "None"]


def test_a_comparison_without_rows_says_so():
    """No axes that look as if something were missing."""
    figure = comparison(0).plot()
    assert texts(figure.axes[1]) == ["no rows to compare"]
    assert not any(ax.axison for ax in figure.axes)
    assert comparison(1).plot().get_suptitle().startswith("1 row, delta = 0.95, over ")


@pytest.mark.parametrize("found", [comparison, lambda: comparison(1), wordy_comparison])
def test_texts_of_a_comparison_do_not_meet(found: Callable[[], Comparison]):
    """Long names of features and of methods: nothing is cut, nothing overlaps."""
    figure = found().plot()
    figure.canvas.draw()
    written = [figure._suptitle]
    for ax in figure.axes:
        written += [ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            inside = [low <= place <= high for place in axis.get_majorticklocs()]
            written += np.array(axis.get_ticklabels())[inside].tolist()
        written += ax.get_legend().get_texts() if ax.get_legend() else []
    boxes = [(text, text.get_window_extent()) for text in written if text.get_text()]
    assert len(boxes) > 40
    for text, box in boxes:
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= figure.bbox.width, text
        assert box.y1 <= figure.bbox.height, text
    for k, (one, first) in enumerate(boxes):
        for other, second in boxes[:k]:
            across = min(first.x1, second.x1) - max(first.x0, second.x0)
            down = min(first.y1, second.y1) - max(first.y0, second.y0)
            assert min(across, down) <= 2, (one, other)
    assert len(set(ticks(figure.axes[2]))) == len(ticks(figure.axes[2]))


# --- What they look like ----------------------------------------------------------------------

# Of 255 levels of a colour, root mean square over blocks of 8 by 8 pixels.
TOLERANCE = 9.0
PICTURES: dict[str, Callable[[], Any]] = {
    "waterfall": lambda: plots.waterfall(explanation()[0]),
    "waterfall-down": lambda: plots.waterfall(mixed_explanation()[0]),
    "waterfall-empty": lambda: plots.waterfall(empty()[0]),
    "waterfall-probability": lambda: plots.waterfall(explanation()[0].as_guarantee()),
    "curve": lambda: plots.curve(explanation()[0]),
    "curve-rows": lambda: plots.curve(mixed_explanation()[:5]),
    "curve-band": lambda: plots.curve(explanation()),
    "frequency": lambda: plots.frequency(explanation()),
    "frequency-long": lambda: plots.frequency(wordy()),
    "heatmap": lambda: plots.reasons_heatmap(explanation()),
    "heatmap-mixed": lambda: plots.reasons_heatmap(mixed_explanation()),
    "comparison": lambda: comparison().plot(),
    "comparison-one": lambda: comparison(1).plot(),
    "comparison-long": lambda: wordy_comparison().plot(),
    "comparison-empty": lambda: comparison(0).plot(),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_look_as_they_did(name: str, tmp_path: Path):
    """Bars, lines and cells; without texts, which every release of matplotlib sets otherwise."""
    picture = PICTURES[name]()
    expected, drawn = IMAGES / f"{name}.png", tmp_path / f"{name}.png"
    again = bool(os.environ.get("PROBSR_NEW_IMAGES"))
    path = expected if again else drawn
    without_texts(picture).savefig(path, dpi=50, metadata={"Software": None})
    if again:
        pytest.skip("drawn anew")
    assert difference(expected, drawn) < TOLERANCE


def difference(first: Path, second: Path) -> float:
    """Return by how much two pictures differ; an edge that is a pixel off counts little."""
    one, other = (
        np.asarray(Image.open(path).convert("RGB").reduce(8), dtype=float)
        for path in (first, second)
    )
    assert one.shape == other.shape
    return float(np.sqrt(np.mean((one - other) ** 2)))


def without_texts(drawn: Any) -> Any:
    """Return the figure of some axes with all texts taken away, and all axes at fixed places."""
    figure = drawn.figure
    figure.set_layout_engine("none")
    figure.suptitle("")
    width = 1 / len(figure.axes)
    for k, ax in enumerate(figure.axes):
        ax.set_position(((k + 0.05) * width, 0.1, 0.9 * width, 0.8))
        for text in [*ax.texts, *filter(None, [ax.get_legend()])]:
            text.remove()
        ax.set_title("", loc="left")
        ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    return figure


def test_a_changed_picture_is_noticed(tmp_path: Path):
    """One bar less is beyond the tolerance."""
    ax = PICTURES["waterfall"]()
    ax.patches[2].remove()
    without_texts(ax).savefig(tmp_path / "drawn.png", dpi=50)
    assert difference(IMAGES / "waterfall.png", tmp_path / "drawn.png") > TOLERANCE
