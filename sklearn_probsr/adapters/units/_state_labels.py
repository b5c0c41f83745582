"""Labels: the raw values that are worth telling apart, and what a person calls a set of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_probsr.adapters.units._columns import Cut, Domain, is_missing
from sklearn_probsr.model.numbers import MISSING, exact_text

__all__ = ["Candidate", "candidates", "extras", "is_number", "label"]

_MOST = 3  # categories that a label lists
OTHER = "another category"


@dataclass(frozen=True)
class Candidate:
    """A raw value that stands for others: a category, a number in an interval, a missing value.

    ``place`` orders numbers: even places are the intervals between cuts, odd ones the cuts.
    """

    value: Any
    text: str = ""
    place: int | None = None
    role: str = "value"


def candidates(domain: Domain) -> list[Candidate]:
    """Return one raw value for everything that a domain tells apart and its steps must take."""
    if domain.values and not (domain.cuts and all(map(is_number, domain.values))):
        return [Candidate(value, _text(value)) for value in domain.values]
    cuts = sorted({*domain.cuts, *map(float, domain.values)})
    if not cuts:
        return [Candidate(_between(-1.0, 3.0, domain), place=0)]
    # With all digits: of a number beyond a rounded cut, the label would say what is not so.
    texts = [cut.text if isinstance(cut, Cut) else exact_text(cut) for cut in cuts]
    ends = [cuts[0] - 2 * (1 + abs(cuts[0])), *cuts, cuts[-1] + 2 * (1 + abs(cuts[-1]))]
    found = []
    for i, (low, high) in enumerate(itertools.pairwise(ends)):
        inside = _between(low, high, domain)
        if low < inside < high:
            found.append(Candidate(inside, place=2 * i))
        if i < len(cuts) and high not in domain.missing + domain.special:
            found.append(Candidate(high, texts[i], 2 * i + 1))
    return found


def _between(low: float, high: float, domain: Domain) -> float:
    """Return a number between two others that does not stand for a missing one."""
    for share in (0.5, 0.375, 0.625, 0.4375, 0.5625):
        value = low + (high - low) * share
        if value not in domain.missing + domain.special:
            break
    return value


def extras(domain: Domain) -> list[Candidate]:
    """Return raw values that the steps may take or refuse: missing and unknown ones."""
    found = [
        Candidate(marker, MISSING, role="missing")
        for marker in domain.missing
        if not is_missing(marker)
    ]
    found += [Candidate(value, _text(value)) for value in domain.special]
    if domain.missing or domain.values:
        found.append(Candidate(np.nan, MISSING, role="missing"))
    if domain.values and not any(map(is_missing, domain.values)):
        found.append(Candidate(None, MISSING, role="missing"))
    if domain.values and not domain.cuts:
        found.append(Candidate(_unknown(domain.values), OTHER, role="other"))
    return found


def is_number(value: Any) -> bool:
    """Whether a raw value is a number, and not a missing one."""
    return isinstance(value, int | float | np.number) and not is_missing(value)


def _unknown(values: Sequence[Any]) -> Any:
    known = [v for v in values if not is_missing(v)]
    if known and all(map(is_number, known)):
        return max(known) + 1
    name = OTHER
    while name in known:
        name += " "
    return name


def _text(value: Any) -> str:
    return MISSING if is_missing(value) else exact_text(value)


def label(name: str, members: Sequence[Candidate], everything: Sequence[Candidate]) -> str:
    """Return what to call the candidates that are in one state, given all that there are."""
    placed = any(c.place is not None for c in members)
    if len(members) == len(everything) and (placed or len(members) > 1):
        return f"{name}: any value"
    parts = _intervals(name, members, everything)
    listed = [
        c.text for c in members if c.place is None and c.role == "value" and not is_missing(c.value)
    ]
    if len(listed) > _MOST:
        listed = [*listed[: _MOST - 1], f"{len(listed) - _MOST + 1} more"]
    gaps = [c for c in members if is_missing(c.value) or c.role == "missing"]
    others = [MISSING] if gaps else []
    others += [OTHER] if any(c.role == "other" for c in members) else []
    if not parts and not listed and others == [MISSING]:
        # A category of its own, or what the steps make of a gap.
        is_category = any(c.role == "value" for c in gaps)
        return f"{name}: {MISSING}" if is_category else f"{name} is {MISSING}"
    if not parts:
        return f"{name}: {', or '.join(filter(None, [_join(listed), *others]))}"
    return ", or ".join([_join([*parts, *listed]), *others])


def _join(parts: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _intervals(
    name: str, members: Sequence[Candidate], everything: Sequence[Candidate]
) -> list[str]:
    """Return the intervals that the places of some candidates make up."""
    at = sorted(c.place for c in members if c.place is not None)
    texts = dict(sorted((c.place, c.text) for c in everything if c.place is not None))
    ranks = {place: rank for rank, place in enumerate(texts)}
    found, start = [], 0
    for i in range(1, len(at) + 1):
        if i == len(at) or ranks[at[i]] != ranks[at[i - 1]] + 1:
            found.append(_interval(name, at[start], at[i - 1], max(texts), texts))
            start = i
    return found


def _interval(name: str, first: int, last: int, end: int, texts: dict[int, str]) -> str:
    low = None if first == 0 else texts[first if first % 2 else first - 1]
    high = None if last == end else texts[last if last % 2 else last + 1]
    closed_low, closed_high = first % 2 == 1, last % 2 == 1
    if low is None and high is None:
        return f"{name} is known"
    if low is None:
        return f"{name} {'≤' if closed_high else '<'} {high}"
    if high is None:
        return f"{name} {'≥' if closed_low else '>'} {low}"
    if first == last and closed_low:
        return f"{name}: {low}"
    left, right = "[" if closed_low else "(", "]" if closed_high else ")"
    return f"{name} in {left}{low}, {high}{right}"
