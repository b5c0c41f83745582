"""What a reason says, and how a batch of them behaves."""

import pickle

import numpy as np
import pytest

from sklearn_probsr import LinearModel, sufficient_reason, sufficient_reasons
from sklearn_probsr.results._sentence import _two_digits_up

MODEL = LinearModel(
    [5, 1, -3, 2, -1],
    5,
    feature_names=["car", "pet", "debt", "house", "fine"],
    classes=("rejected", "accepted"),
)
ROWS = np.array([[1, 0, 0, 1, 1], [0, 1, 1, 0, 1], [1, 1, 1, 1, 1]])


@pytest.mark.smoke
def test_it_reads_as_a_sentence():
    """Class, probability, distribution, facts, size and claim, in one line."""
    assert str(sufficient_reason(MODEL, ROWS[0], delta=0.875)) == (
        "Class accepted is kept with probability at least 0.875 over uniform completions, given "
        "car = 1 and debt = 0 (2 of 5 features; no smaller set reaches 0.875)."
    )


def test_an_empty_reason_says_that_nothing_is_needed():
    """No facts: the class holds whatever the features are."""
    assert str(sufficient_reason(MODEL, ROWS[0], delta=0.2)) == (
        "Class accepted is kept with probability at least 0.25 over uniform completions, whatever "
        "the features are (0 of 5 features; no smaller set reaches 0.2)."
    )


def test_a_set_that_misses_delta_says_so():
    """Cut short by max_size, it does not pretend."""
    assert str(sufficient_reason(MODEL, ROWS[0], delta=0.95, max_size=1)) == (
        "Class accepted is kept with probability at least 0.5 over uniform completions, given "
        "car = 1 (1 of 5 features; the best set found of at most 1 feature; 0.95 is not reached)."
    )


def test_an_estimate_says_its_confidence():
    """A sampled reason is never mistaken for a proof."""
    text = str(sufficient_reason(MODEL, ROWS[0], method="monte-carlo", random_state=0))
    assert text == (
        "Class accepted is kept with probability at least 0.94 over uniform completions, with "
        "confidence 0.999999, given car = 1, debt = 0 and house = 1 (3 of 5 features; no smaller "
        "set reaches 0.95 + 0.01)."
    )


def test_columns_and_rows_agree():
    """`[i]` is one reason; columns hold the same values; negative indices count from the end."""
    found = sufficient_reasons(MODEL, ROWS, delta=0.9)
    assert len(found) == 3
    for i, reason in enumerate(found):
        assert reason == found[i - 3]
        assert reason.size == found.size[i] == found.mask[i].sum()
        assert set(reason.features) == set(np.flatnonzero(found.mask[i]))
        assert reason.guarantee.lower == found.lower[i]
        assert reason.guarantee.upper == found.upper[i]
        assert reason.minimality == found.minimality[i]
        assert reason.prediction == found.prediction[i]
        assert reason.feature_names == tuple(MODEL.feature_names[j] for j in reason.features)
        outside = np.isnan(reason.partial_instance)
        assert (outside == ~found.mask[i]).all()
        assert (reason.partial_instance[~outside] == ROWS[i][found.mask[i]]).all()
    with pytest.raises(IndexError):
        found[3]


def test_slices_and_masks_are_batches():
    """A part of a batch is a batch, exact values included."""
    found = sufficient_reasons(MODEL, ROWS, delta=0.9)
    for index in (slice(1, None), [1, 2], np.array([False, True, True])):
        part = found[index]
        assert len(part) == 2
        assert part[0] == found[1]
        assert part[1] == found[2]


def test_forced_features_come_first():
    """The order chosen: what was forced in, as given, then the most telling."""
    reason = sufficient_reason(MODEL, ROWS[0], delta=1, include=["fine", "pet"])
    assert reason.feature_names == ("fine", "pet", "car", "debt", "house")


def test_answers_are_frozen_and_travel():
    """Columns are read-only; pickling keeps everything."""
    found = sufficient_reasons(MODEL, ROWS, delta=0.9)
    with pytest.raises(ValueError, match="read-only"):
        found.mask[0, 0] = False
    with pytest.raises(ValueError, match="read-only"):
        found[0].partial_instance[0] = 3
    assert pickle.loads(pickle.dumps(found))[0] == found[0]
    assert pickle.loads(pickle.dumps(found[0])) == found[0]


def test_levels_are_printed_in_full():
    """0.9375001 is not 0.9375, which a smaller set does reach."""
    text = str(sufficient_reason(LinearModel([1, 1, 1, 1], 1), [1] * 4, delta=0.9375001))
    assert text.endswith("(1 of 4 features; no smaller set reaches 0.9375001).")


@pytest.mark.parametrize(
    ("value", "text"), [(2.61304e-06, "2.7e-06"), (0.01, "0.01"), (0.0123, "0.013"), (0, "0")]
)
def test_an_epsilon_is_printed_rounded_up(value: float, text: str):
    """A printed slack is never better than the slack."""
    assert _two_digits_up(value) == text
