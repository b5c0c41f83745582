"""Units of a pipeline: the columns of the model that belong to a raw column, and their states.

The states are found by running the fitted transformers on raw values that stand for all others, so
that they are what the pipeline really computes; a value that it refuses cannot occur. Cuts that
were carried back through a scaler are put where the raw column has them, and labels are made last.
"""

from __future__ import annotations

import itertools
import struct
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters.columns import (
    Base,
    Carried,
    Cut,
    Domain,
    Gathering,
    Kind,
    as_floats,
    is_missing,
)
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import MISSING, exact_text, may_be_written
from sklearn_probsr.model.units import Unit

# States that are looked at together have so many numbers.
_AT_ONCE = 2**20


def make_units(
    bases: Sequence[Base], raw_names: Sequence[str], binary: NDArray[np.bool_], trials: Trials
) -> list[Unit]:
    """Return the units of some base columns; ``binary`` tells which are 0/1 by their own."""
    groups: dict[tuple[int, str, Hashable], list[int]] = {}
    for i, base in enumerate(bases):
        groups.setdefault(base.unit, []).append(i)
    groups = dict(sorted(groups.items(), key=lambda item: (item[0][0], item[1][0])))
    finite = {
        unit[0]: at for unit, at in groups.items() if all(bases[i].kind is Kind.FINITE for i in at)
    }
    found = trials.states(finite) if finite else {}
    units: list[Unit] = []
    counted: Counter[str] = Counter()
    for (raw, own, _), at in groups.items():
        first, name, labels = bases[at[0]], own or raw_names[raw], bases[at[0]].labels
        counted[own] += bool(own)
        if counted[own] > 1:  # what another vectorizer of the same texts calls so, too
            name = f"{own} ({counted[own]})"
            labels = tuple(f"{label} ({counted[own]})" for label in labels)
        if raw in finite and not own:
            ranked = len(at) == 1 and first.ranked
            units.append(_finite_unit(name, at, found[raw], ranked))
        elif all(bases[i].kind is Kind.FLAG for i in at):  # several are there together, or not
            states = tuple((float(there),) * len(at) for there in (0, 1))
            units.append(Unit(name, tuple(at), states, labels))
        else:
            # A number as it came, or as it was filled in, or a count; else it is a function of one.
            own_values = len(at) == 1 and first.kind in {Kind.RAW, Kind.COUNT}
            flag = ((0.0,), (1.0,)) if len(at) == 1 and binary[at[0]] else None
            told = labels if own else ()
            units.append(Unit(name, tuple(at), flag, told, coded=not own_values))
    return units


def _finite_unit(
    name: str,
    at: Sequence[int],
    found: Sequence[tuple[Candidate, tuple[float, ...] | None]],
    ranked: bool,
) -> Unit:
    members: dict[tuple[float, ...], list[Candidate]] = {}
    for candidate, state in found:
        if state is not None:
            members.setdefault(state, []).append(candidate)
    if not members:
        raise InvalidInputError(
            f"the steps refuse every value of {name!r} that was tried: "
            f"{', '.join(repr(candidate.value) for candidate, _ in found[:3])}."
        )
    if ranked or set(members) == {(0.0,), (1.0,)}:
        members = dict(sorted(members.items()))
    everything = [candidate for candidate, _ in found]
    labels = [label(name, inside, everything) for inside in members.values()]
    return Unit(name, tuple(at), tuple(members), tuple(labels))


class Trials:
    """Runs of the fitted transformers on made-up raw rows.

    Parameters
    ----------
    bases : sequence of Base
        The columns of the model.
    raw_names : sequence of str
        The raw columns.
    named : bool
        Whether the steps know them by name.
    others : sequence of Base
        Base columns of raw ones that left the model, and still reach its steps.
    """

    def __init__(
        self,
        bases: Sequence[Base],
        raw_names: Sequence[str],
        named: bool,
        others: Sequence[Base],
    ) -> None:
        self.bases, self.raw_names, self.named = bases, raw_names, named
        self.domains: dict[int, Domain] = {}
        self.fillers: dict[int, Any] = {}
        # Columns that one step makes of one raw column share their domain.
        distinct = {(base.raw, id(base.domain)): base.domain for base in (*bases, *others)}
        for (raw, _), domain in distinct.items():
            self.domains[raw] = self.domains.get(raw, Domain()).merge(domain)
        self.texts = {base.raw for base in (*bases, *others) if base.own is not None}

    def tried(self, at: Sequence[int], values: Sequence[Any]) -> NDArray[np.float64] | None:
        """Return what raw values become in the base columns of one unit; None if they are refused.

        The other raw columns do not matter.
        """
        return self._run({self.bases[at[0]].raw: list(values)}, at)

    def categories(self, at: Sequence[int]) -> list[tuple[str, tuple[float, ...]]] | None:
        """Return what the categories of one unit are called, and what each becomes in its columns.

        One is `MISSING`, and one `OTHER`, if they are taken. None if there are numbers among them.
        """
        if not all(self.bases[i].kind is Kind.FINITE for i in at):
            return None
        raw = self.bases[at[0]].raw
        found = self.states({raw: list(at)})[raw]
        if any(candidate.place is not None for candidate, _ in found):
            return None
        return [(candidate.text, state) for candidate, state in found if state is not None]

    def states(
        self, columns: dict[int, list[int]]
    ) -> dict[int, list[tuple[Candidate, tuple[float, ...] | None]]]:
        """Return what each candidate of some raw columns becomes in their base columns.

        None if the pipeline refuses it: then it cannot occur.
        """
        for raw, at in columns.items():
            self.domains[raw] = sharpened(
                self.domains[raw],
                partial(self.tried, at),
                partial(self._compared, raw),
            )
        # A base column depends on one raw column, so all columns can be tried at once: first what
        # their steps must take, then what they may refuse, one value of each column at a time.
        certain = {raw: candidates(self.domains[raw]) for raw in columns}
        more = {raw: extras(self.domains[raw]) for raw in columns}
        found = self._tried_together(columns, certain)
        for k in range(max(map(len, more.values()))):
            some = {raw: [rest[k]] for raw, rest in more.items() if k < len(rest)}
            for raw, told in self._tried_together({r: columns[r] for r in some}, some).items():
                found[raw] += told
        return found

    def _tried_together(
        self, columns: dict[int, list[int]], tried: dict[int, list[Candidate]]
    ) -> dict[int, list[tuple[Candidate, tuple[float, ...] | None]]]:
        """Return what candidates become, by runs of many; alone, where a run is refused."""
        longest = max(map(len, tried.values()))
        trials = {raw: _padded([c.value for c in some], longest) for raw, some in tried.items()}
        found = {}
        for several in _in_turns(columns, longest):
            at_once = self._run(trials, [i for raw in several for i in columns[raw]])
            start = 0
            for raw in several:
                at, some = columns[raw], tried[raw]
                states: list[Any] = [None] * len(some)
                if at_once is not None:
                    states = list(at_once[: len(some), start : start + len(at)])
                else:
                    for k, candidate in enumerate(some):
                        alone = self._run({raw: [candidate.value]}, at)
                        states[k] = None if alone is None else alone[0]
                start += len(at)
                found[raw] = [
                    (candidate, None if state is None else tuple(state.tolist()))
                    for candidate, state in zip(some, states, strict=True)
                ]
        return found

    def _run(self, trials: dict[int, list[Any]], at: Sequence[int]) -> NDArray[np.float64] | None:
        rows = self._tried(trials, Gathering([self.bases[i] for i in at]).of)
        return rows if rows is not None and np.isfinite(rows).all() else None

    def _compared(
        self, raw: int, values: Sequence[float], cut: Carried
    ) -> NDArray[np.float64] | None:
        """Return the numbers that a step compares with a cut, of values of one raw column."""
        rows = self._tried({raw: list(values)}, lambda X: as_floats(cut.rows.of(X, {})))
        return None if rows is None else rows[:, cut.at]

    def _tried(
        self, trials: dict[int, list[Any]], run: Callable[[Any], Any]
    ) -> NDArray[np.float64] | None:
        """Return what comes of raw values beside those that stand for the others."""
        length = len(next(iter(trials.values())))
        columns = [
            trials.get(raw, [self._filler(raw)] * length) for raw in range(len(self.raw_names))
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown categories, names that an array has not
            try:
                return np.asarray(run(self._frame(columns)))
            except (TypeError, ValueError, IndexError):
                return None

    def _filler(self, raw: int) -> Any:
        """Return a value that the transformers take, for a column that is not on trial."""
        if raw not in self.fillers:
            domain = self.domains.get(raw, Domain())
            if domain.typical:
                self.fillers[raw] = domain.typical[0]
            else:
                self.fillers[raw] = "" if raw in self.texts else candidates(domain)[0].value
        return self.fillers[raw]

    def _frame(self, columns: list[list[Any]]) -> Any:
        if self.named:
            import pandas as pd

            # Among texts, pandas would make NaN of None, which encoders tell apart.
            series = [
                pd.Series(c, dtype=object if any(isinstance(v, str) for v in c) else None)
                for c in columns
            ]
            return pd.DataFrame(dict(zip(self.raw_names, series, strict=True)))
        array = np.empty((len(columns[0]), len(columns)), dtype=object)
        for i, column in enumerate(columns):
            array[:, i] = column
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            return array


def _in_turns(columns: dict[int, list[int]], rows: int) -> Iterator[list[int]]:
    """Yield raw columns, together those whose states of so many rows take little memory."""
    some: list[int] = []
    for raw, at in columns.items():
        if some and rows * (sum(len(columns[one]) for one in some) + len(at)) > _AT_ONCE:
            yield some
            some = []
        some.append(raw)
    yield some


def _padded(values: list[Any], length: int) -> list[Any]:
    return values + [values[0]] * (length - len(values))


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


# How many floats around a cut are looked at first, and how many at once.
_NEAR, _PROBES = 2**12, 64

# Takes raw values; returns their states, or None if one is refused.
States = Callable[[Sequence[float]], NDArray[np.float64] | None]
# Takes raw values and the place of a cut; returns the number that is compared with it.
Values = Callable[[Sequence[float], Carried], NDArray[np.float64] | None]


def sharpened(domain: Domain, states: States, values: Values) -> Domain:
    """Return a domain whose cuts are where the states change, as short as they can be told."""
    if not any(isinstance(cut, Carried) or _is_off(cut) for cut in domain.cuts):
        return domain
    around = {c.place: c.value for c in candidates(domain) if c.place is not None}
    cuts = sorted({*domain.cuts, *map(float, domain.values)})
    found: dict[float, Any] = {}
    for i, cut in enumerate(cuts):
        low, high = around.get(2 * i), around.get(2 * i + 2)
        if isinstance(cut, Carried) and low is not None and high is not None:
            found[cut] = _sharp(cut, low, high, states, values)
        elif _is_off(cut):
            found[cut] = _written(float(cut), states)
    told = [c.text if isinstance(c, Cut) else exact_text(float(c)) for c in _all(domain, found)]
    kept = [
        Cut(c, exact_text(float(c))) if isinstance(c, Cut) and told.count(c.text) > 1 else c
        for c in _all(domain, found)
    ]
    return replace(domain, cuts=tuple(sorted(kept)))


def _all(domain: Domain, found: dict[float, Any]) -> list[Any]:
    return [found.get(cut, cut) for cut in domain.cuts]


def _is_off(cut: float) -> bool:
    """Tell whether a cut is a rounding error beside a number that a person may write."""
    if isinstance(cut, Carried | Cut):
        return False
    return not may_be_written(exact_text(float(cut))) and may_be_written(f"{cut:.15g}")


def _written(cut: float, states: States) -> float:
    """Return a cut told as the number beside it, on the side of the change on which that is.

    What is said is then true of every number of fifteen digits, that one too.
    """
    number = float(f"{cut:.15g}")
    before, after = np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf)
    found = states([float(before), cut, float(after), number])
    if found is None:
        return cut
    low, here, high, said = (tuple(state) for state in found.tolist())
    if (low == here) == (here == high):  # it changes nothing, or stands alone
        return cut
    ends = {here: cut, high: float(after)} if low == here else {low: float(before), here: cut}
    return Cut(ends[said], exact_text(number)) if said in ends else cut


def _sharp(cut: Carried, low: float, high: float, states: States, values: Values) -> float:
    """Return where the state changes between two numbers, of which it is known to be near one."""
    ends = states([low, high])
    if ends is None or np.array_equal(ends[0], ends[1]):
        return float(cut)
    first, last, near = ordinal(low), ordinal(high), ordinal(float(cut))
    close = [max(first, near - _NEAR), min(last, near + _NEAR)]
    inner = states([from_ordinal(k) for k in close])
    if inner is not None and np.array_equal(inner, ends):
        first, last = close
    while last - first > 1:
        step = max((last - first) // _PROBES, 1)
        places = [*range(first, last, step), last]
        found = states([from_ordinal(k) for k in places])
        if found is None:
            return float(cut)
        changed = int(np.argmax((found != ends[0]).any(axis=1)))
        first, last = places[changed - 1], places[changed]
    return _told(cut, from_ordinal(first), from_ordinal(last), values)


def _told(cut: Carried, before: float, after: float, values: Values) -> Cut:
    """Return the float before or after a change, with the shortest text of a number alike."""
    tried = [float(f"{after:.{digits}g}") for digits in range(1, 18)]
    seen = values([before, after, *tried], cut)
    for k, number in enumerate(tried):
        for end, at in ((after, 1), (before, 0)):
            if number == end or (seen is not None and seen[k + 2] == seen[at] != seen[1 - at]):
                return Cut(end, exact_text(number))
    return Cut(after, exact_text(after))


def boundary(says_yes: Callable[[float], bool]) -> tuple[float, bool]:
    """Return the cut of a rule on floats that says no up to some number and yes after it.

    The rule is "score > cut" if the second value is True, else "score >= cut". The cut is
    infinite if the rule never changes its mind. A change within rounding of 0 is taken to be at 0.
    """
    low, high = -sys.float_info.max, sys.float_info.max
    if says_yes(low):
        return -np.inf, False
    if not says_yes(high):
        return np.inf, False
    first, last = ordinal(low), ordinal(high)
    while last - first > 1:
        middle = (first + last) // 2
        if says_yes(from_ordinal(middle)):
            last = middle
        else:
            first = middle
    if abs(from_ordinal(last)) < 1e-15:
        return 0.0, not says_yes(0.0)
    return from_ordinal(last), False


def ordinal(value: float) -> int:
    """Return the place of a float among all floats."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def from_ordinal(place: int) -> float:
    """Return the float at a place among all floats."""
    bits = place if place >= 0 else -place | (1 << 63)
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value
