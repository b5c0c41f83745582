"""Sentences: what is proved of a reason, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sklearn_probsr.model._enclosure import lower_text
from sklearn_probsr.model._exact import decimal_fraction

if TYPE_CHECKING:
    from sklearn_probsr.laws.rows._neighbours import Matches

__all__ = ["CLAIMS", "claim", "cost_text", "count_text", "marked_facts", "sentence"]

CLAIMS = {
    "minimum": "no smaller set reaches {delta}",
    "subset-minimal": "none can be left out",
    "near-subset-minimal": "none is known to be superfluous",
    "locally-minimal": "no single one of them can be left out",
    "near-locally-minimal": "no single one is known to be superfluous",
    "near-prefix-minimal": "no fewer by mean cost reach {delta} + {epsilon}",
    "near-minimum": "no smaller set reaches {delta} + {epsilon}",
    "best-of-size": "the best set found of at most {size}; {delta} is not proved",
}
# Of rows that are counted.
_COUNTED = {**CLAIMS, "best-of-size": "the best set found; none found reaches {delta}"}


def sentence(reason: Any) -> str:
    """Say why a row got its class, or why that cannot be said of it."""
    if reason.status == "invalid":
        return f"No class, no reason: {reason.message}"
    told = _told(reason)
    return told if reason.status == "ok" else f"{told} {reason.message}"


def _told(reason: Any) -> str:
    """Say what the features of a reason guarantee."""
    given = f"given {_facts(reason)}" if reason.facts else "whatever the features are"
    known = reason.guarantee
    sure = lower_text(known.lower if known.exact is None else known.exact)
    trust = ""
    if reason.guarantee.confidence < 1:
        trust = f", with confidence {lower_text(reason.guarantee.confidence, 9)}"
    if reason.matches is not None:
        return _conditional(reason, reason.matches, sure, trust.removeprefix(","), claim(reason))
    return (
        f"Class {reason.prediction!s} is kept with probability at least {sure} over "
        f"{reason.distribution}{trust}, {given} ({count_text(reason)}; "
        f"{claim(reason)})."
    )


def claim(reason: Any) -> str:
    """Say what is proved of the size of a reason."""
    claims = CLAIMS if reason.matches is None else _COUNTED
    told = claims[reason.minimality].format(
        epsilon=_two_digits_up(reason.epsilon), delta=reason.delta, size=reason.size
    )
    kind = " and ".join(reason.only)
    if reason.priced:
        told = told.replace("no smaller set ", "no cheaper set ")
    if kind:
        for word in ("smaller", "cheaper"):
            told = told.replace(f"no {word} set ", f"no {word} set of {kind} features ")
        told = told.replace("the best set found", f"of {kind} features the best set found")
    bounded = reason.minimality.endswith(("subset-minimal", "locally-minimal"))
    if reason.matches is None and bounded:
        told += _bounded(reason, kind)
    return told


def _bounded(reason: Any, kind: str) -> str:
    """Say what is proved of all sets, where there is anything to say."""
    those = f" {kind} features" if kind else " features"
    if reason.priced and reason.cost_lower > 0:
        least = cost_text(reason.cost_lower, down=True)
        return f"; no set of{those} that costs less than {least} reaches {reason.delta}"
    if not reason.priced and reason.size_lower > 1:
        return f"; no set of fewer than {reason.size_lower}{those} reaches {reason.delta}"
    return ""


def count_text(reason: Any) -> str:
    """Say how many features a reason has, and what they cost if that was asked for."""
    told = f"{reason.size} of {reason.n_units} features"
    return f"{told} at a cost of {cost_text(reason.cost)}" if reason.priced else told


def cost_text(value: float, down: bool = False) -> str:
    """Print a cost with at most twelve digits; as a bound, rounded down."""
    told = f"{value:.12g}"
    if down and decimal_fraction(told) > decimal_fraction(value):
        with localcontext(prec=12, rounding=ROUND_FLOOR):
            told = f"{float(+Decimal(repr(value))):.12g}"
    return told


def _conditional(reason: Any, matches: Matches, sure: str, trust: str, proved: str) -> str:
    """Say it of the rows that share the facts."""
    those = f"the rows that share {_facts(reason)}" if reason.facts else "all rows"
    verdict = {True: "confirmed", False: "refuted", None: "not confirmed"}
    held, all_rows = matches.confirmed, matches.descriptive
    how = "by Wilson's lower bound in" if reason.distribution.cautious else "in"
    return (
        f"Of {those}, class {reason.prediction!s} is kept in at least {sure}{trust}: in {held} "
        f"such rows among {held.rows:,} held out; {reason.delta} is "
        f"{verdict[(reason.guarantee >= reason.delta).value]} (descriptive, over all "
        f"{all_rows.rows:,} rows: {all_rows}; {reason.size} of {reason.n_units} features; {proved} "
        f"{how} the {matches.searched.rows:,} rows searched)."
    )


def _two_digits_up(value: float) -> str:
    """Print a positive number with two digits, rounded up."""
    if value == 0:
        return "0"
    exact = decimal_fraction(value)
    unit = Fraction(10) ** (math.floor(math.log10(value)) - 1)
    return f"{float(math.ceil(exact / unit) * unit):.2g}"


def marked_facts(reason: Any) -> list[str]:
    """Return the facts of a reason, each that speaks against its class behind "although"."""
    return [
        f"although {fact}" if unit in reason.against else fact
        for unit, fact in zip(reason.features, reason.facts, strict=True)
    ]


def _facts(reason: Any) -> str:
    """Return what is known: what speaks for the class, although something speaks against it."""
    told = dict(zip(reason.features, reason.facts, strict=True))
    against = [told[u] for u in reason.features if u in reason.against]
    others = [told[u] for u in reason.features if u not in reason.against]
    if not against or not others:
        return f"{'although ' if against else ''}{_and(against or others)}"
    return f"{_and(others)}, although {_and(against)}"


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
