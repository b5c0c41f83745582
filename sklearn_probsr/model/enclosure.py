"""Enclosure: an interval that contains a probability, and its three-valued verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError, UndecidedError
from sklearn_probsr.model.numbers import decimal_fraction, float_above, float_below, float_pair


@dataclass(frozen=True)
class Verdict:
    """The answer to a comparison: yes, no, or undecided.

    Parameters
    ----------
    value : bool or None
        None means that the enclosure does not settle the question.
    confidence : float, default=1.0
        1.0 for a proof, less for an estimate.

    Examples
    --------
    >>> bool(Verdict(True))
    True
    >>> bool(Verdict(None))
    Traceback (most recent call last):
    ...
    sklearn_probsr.exceptions.UndecidedError: The enclosure does not settle this comparison. \
Test `.value is None` first, or ask for a narrower enclosure with a smaller tol.
    """

    value: bool | None
    confidence: float = 1.0

    @property
    def decided(self) -> bool:
        """Whether the answer is yes or no."""
        return self.value is not None

    def __bool__(self) -> bool:
        if self.value is None:
            raise UndecidedError(
                "The enclosure does not settle this comparison. Test `.value is None` first, "
                "or ask for a narrower enclosure with a smaller tol."
            )
        return self.value


@dataclass(frozen=True)
class Enclosure:
    """An interval ``[lower, upper]`` that contains a probability.

    Parameters
    ----------
    lower, upper : float
        Bounds that were rounded outward.
    confidence : float, default=1.0
        1.0 when the bounds are proved. Less when they come from random samples: then the
        interval contains the probability with at least this confidence.
    exact : Fraction or None, default=None
        The probability itself, where it is known as a rational number. Comparisons use it, so
        that rounding the bounds to floats never blurs a tie.

    Notes
    -----
    Numbers given by a user, here and in a comparison, mean the decimals that they print as.
    ``Enclosure(0.9, 1.0) >= 0.9`` holds.

    Examples
    --------
    >>> bool(Enclosure(0.94, 0.96) >= 0.9)
    True
    >>> (Enclosure(0.94, 0.96) >= 0.95).value is None
    True
    """

    lower: float
    upper: float
    confidence: float = 1.0
    exact: Fraction | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper <= 1:
            raise InvalidInputError(
                f"An enclosure needs 0 <= lower <= upper <= 1, got lower={self.lower!r} and "
                f"upper={self.upper!r}."
            )
        if not 0 <= self.confidence <= 1:
            raise InvalidInputError(f"confidence must lie in [0, 1], got {self.confidence!r}.")

    @classmethod
    def of(cls, probability: Fraction) -> Enclosure:
        """Return the enclosure of a probability that is known exactly."""
        return cls(*float_pair(probability), exact=probability)

    @classmethod
    def proved(cls, lower: float, upper: float) -> Enclosure:
        """Return a proved enclosure from float bounds, one ulp outward and inside [0, 1].

        The ulp makes both readings of a float enclose, the binary one and the decimal one, and
        keeps a bound that was rounded to 1 from claiming certainty.
        """
        below, above = math.nextafter(lower, -1.0), math.nextafter(upper, 2.0)
        return cls(max(below, 0.0), min(above, 1.0))

    @classmethod
    def between(cls, lower: Fraction, upper: Fraction) -> Enclosure:
        """Return a proved enclosure from exact bounds."""
        if lower == upper:
            return cls.of(lower)
        return cls.proved(float_below(lower), float_above(upper))

    @property
    def width(self) -> float:
        """The length of the interval."""
        return self.upper - self.lower

    def intersect(self, other: Enclosure) -> Enclosure:
        """Return what two proved enclosures of one probability say together."""
        for known in (self, other):
            if known.exact is not None:
                return known
        return Enclosure(max(self.lower, other.lower), min(self.upper, other.upper))

    def ends(self) -> tuple[Fraction, Fraction]:
        """Return both bounds exactly."""
        if self.exact is not None:
            return self.exact, self.exact
        return decimal_fraction(self.lower), decimal_fraction(self.upper)

    def _verdict(self, yes: bool, no: bool) -> Verdict:
        return Verdict(True if yes else False if no else None, self.confidence)

    def __ge__(self, delta: Any) -> Verdict:
        lower, upper = self.ends()
        level = _level(delta)
        return self._verdict(lower >= level, upper < level)

    def __gt__(self, delta: Any) -> Verdict:
        lower, upper = self.ends()
        level = _level(delta)
        return self._verdict(lower > level, upper <= level)

    def __lt__(self, delta: Any) -> Verdict:
        lower, upper = self.ends()
        level = _level(delta)
        return self._verdict(upper < level, lower >= level)

    def __le__(self, delta: Any) -> Verdict:
        lower, upper = self.ends()
        level = _level(delta)
        return self._verdict(upper <= level, lower > level)

    def __str__(self) -> str:
        below, above = self.ends()
        lower, upper = lower_text(below), upper_text(above)
        return lower if lower == upper else f"[{lower}, {upper}]"


def _level(delta: Any) -> Fraction:
    try:
        return decimal_fraction(delta)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"An enclosure is compared with a number, got {delta!r}.") from None


def lower_text(value: Any, digits: int = 6) -> str:
    """Print a lower bound, rounded down to so many decimals."""
    return f"{math.floor(decimal_fraction(value) * 10**digits) / 10**digits:.{digits}g}"


def upper_text(value: Any, digits: int = 6) -> str:
    """Print an upper bound, rounded up to so many decimals."""
    return f"{math.ceil(decimal_fraction(value) * 10**digits) / 10**digits:.{digits}g}"
