"""Sentences: what is proved of a reason, in words."""

from __future__ import annotations

import math
import re
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.results._listed import count, listed
from sklearn_probsr.results._scope import Scope

if TYPE_CHECKING:
    from sklearn_probsr.rows.matching import Matches

__all__ = ["CLAIMS", "claim", "cost_text", "count_text", "marked_facts", "sentence", "template"]

# What is proved: {sets} are those that were allowed, and {forced} what each of them has.
CLAIMS = {
    "minimum": "no {smaller} set{sets} reaches {delta}",
    "subset-minimal": "{forced}none can be left out",
    "near-subset-minimal": "{forced}none is known to be superfluous",
    "locally-minimal": "{forced}no single one of them can be left out",
    "near-locally-minimal": "{forced}no single one is known to be superfluous",
    "near-prefix-minimal": "{forced}no fewer{kind} by mean cost reach {delta} + {epsilon}",
    "near-minimum": "no {smaller} set{sets} reaches {delta} + {epsilon}",
    "best-of-size": "the best set found{most}; {reached}",
}


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


def template(word: str, scope: Scope, priced: bool = False, **row: str) -> str:
    """Return what a word of minimality claims of the sets in a scope.

    What differs from row to row is left open unless it is given: ``{delta}``, ``{epsilon}``, and
    ``{reached}``, which says it of a set that is not proved to reach delta.
    """
    known = row | {
        # Of the cheapest, the number of features is what was asked for, too.
        "sets": scope.words(sized=priced),
        "most": scope.words(sized=True),
        "kind": f" of {scope.kind}" if scope.kind else "",
        "forced": f"beside {scope.forced} " if scope.include else "",
        "smaller": "cheaper" if priced else "smaller",
    }
    return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], found[0]), CLAIMS[word])


def claim(reason: Any) -> str:
    """Say what is proved of the size of a reason."""
    refuted = (reason.guarantee >= reason.delta).value is False
    reached = f"{reason.delta} is not {'reached' if refuted else 'proved'}"
    if reason.matches is not None:  # the sets were compared in rows that the guarantee is not of
        reached = f"none found reaches {reason.delta}"
        if reason.matches.searched.matching < reason.scope.min_rows:
            return f"fewer than {reason.scope.min_rows:,} share them"
    told = template(
        reason.minimality,
        reason.scope,
        reason.priced,
        epsilon=_two_digits_up(reason.epsilon),
        delta=str(reason.delta),
        reached=reached,
    )
    bounded = reason.minimality.endswith(("subset-minimal", "locally-minimal"))
    if reason.matches is None and bounded:
        told += _bounded(reason)
    return told


def _bounded(reason: Any) -> str:
    """Say what is proved of all sets, where there is anything to say."""
    scope: Scope = reason.scope
    if reason.priced and reason.cost_lower > 0:
        those = scope.words(sized=True) or " of features"
        least = cost_text(reason.cost_lower, down=True)
        return f"; no set{those} that costs less than {least} reaches {reason.delta}"
    if not reason.priced and reason.size_lower > 1:
        fewer = f"fewer than {reason.size_lower}"
        those = f" of {fewer} {scope.kind or 'features'}"
        if scope.include or scope.exclude:
            those = f"{scope.words()} that has {fewer} features"
        return f"; no set{those} reaches {reason.delta}"
    return ""


def count_text(reason: Any) -> str:
    """Say how many features a reason has, and what they cost if that was asked for."""
    told = f"{reason.size:,} of {count(reason.n_units, 'feature')}"
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
        f"{count(all_rows.rows, 'row')}: {all_rows}; {count_text(reason)}; {proved} {how} the "
        f"{count(matches.searched.rows, 'row')} searched)."
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
    return listed(others, although=against)
