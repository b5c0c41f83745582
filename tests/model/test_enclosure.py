"""Enclosures and their verdicts."""

import re
from fractions import Fraction

import pytest

from sklearn_probsr.exceptions import InvalidInputError, UndecidedError
from sklearn_probsr.extend import Enclosure, Verdict


def test_a_comparison_has_three_answers():
    """Above, below, and undecided; the mirror images agree."""
    e = Enclosure(0.94, 0.96)
    assert (e >= 0.9).value is True
    assert (e < 0.9).value is False
    assert (e >= 0.97).value is False
    assert (e < 0.97).value is True
    assert (e > 0.96).value is False
    assert (e <= 0.96).value is True
    for verdict in (e >= 0.95, e < 0.95, e > 0.95, e <= 0.95):
        assert verdict.value is None
        assert not verdict.decided


def test_an_undecided_verdict_refuses_to_be_a_bool():
    """Neither `if` nor `not` may silently take undecided for no."""
    message = (
        "The enclosure does not settle this comparison. Test `.value is None` first, "
        "or ask for a narrower enclosure with a smaller tol."
    )
    with pytest.raises(UndecidedError, match=f"^{re.escape(message)}$"):
        bool(Enclosure(0.94, 0.96) >= 0.95)
    assert bool(Enclosure(0.94, 0.96) >= 0.94)
    assert not (Enclosure(0.94, 0.96) >= 0.97)


@pytest.mark.parametrize("value", [0.3, 0.9, 0.95, 0.1, 0.7])
def test_bounds_and_levels_are_the_decimals_that_they_print_as(value: float):
    """Equality counts, whichever side of the decimal the float happens to lie on."""
    assert Enclosure(value, 1.0) >= value
    assert Enclosure(0.0, value) <= value


def test_an_exact_value_decides_ties_that_floats_blur():
    """Nine tenths is no float, yet it reaches 0.9 and does not exceed it."""
    e = Enclosure.of(Fraction(9, 10))
    assert Fraction(e.lower) < Fraction(9, 10) <= Fraction(e.upper)
    assert e >= 0.9
    assert not (e > 0.9)
    assert Enclosure.of(Fraction(7, 8)).lower == Enclosure.of(Fraction(7, 8)).upper == 0.875


def test_proved_bounds_go_outward_and_stay_probabilities():
    """A computed bound is widened by an ulp; one that was rounded to 1 claims no certainty."""
    e = Enclosure.proved(0.25, 0.75)
    assert e.lower < 0.25
    assert e.upper > 0.75
    assert Enclosure.proved(-0.1, 1.2) == Enclosure(0.0, 1.0)
    assert Enclosure.proved(1.0, 1.0) == Enclosure(1 - 2**-53, 1.0)
    assert Enclosure.proved(0.0, 0.0) == Enclosure(0.0, 5e-324)


def test_an_estimate_says_so_in_its_verdicts():
    """The confidence of an enclosure is the confidence of what follows from it."""
    assert (Enclosure(0.9, 1.0, confidence=0.99) >= 0.5) == Verdict(True, 0.99)


def test_printing_rounds_outward():
    """A printed bound is never better than the bound."""
    assert str(Enclosure(0.12345678, 0.87654321)) == "[0.123456, 0.876544]"
    assert str(Enclosure.of(Fraction(7, 8))) == "0.875"
    assert str(Enclosure(0.98, 1.0)) == "[0.98, 1]"
    assert str(Enclosure.of(1 - Fraction(1, 2**30))) == "[0.999999, 1]"


@pytest.mark.parametrize(
    ("lower", "upper"), [(-0.1, 0.5), (0.6, 0.5), (0.5, 1.1), (float("nan"), 1)]
)
def test_no_enclosure_of_what_is_no_probability(lower: float, upper: float):
    """Bounds out of order or out of [0, 1] are refused."""
    message = (
        f"An enclosure needs 0 <= lower <= upper <= 1, got lower={lower!r} and upper={upper!r}."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        Enclosure(lower, upper)


def test_confidence_is_a_probability():
    """Confidence outside [0, 1] is refused."""
    with pytest.raises(InvalidInputError, match=r"^confidence must lie in \[0, 1\], got 1\.5\.$"):
        Enclosure(0.0, 1.0, confidence=1.5)
