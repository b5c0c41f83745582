"""Units of a pipeline: the columns of the model that belong to a raw column, and their states.

The states are found by running the fitted transformers on raw values that stand for all others, so
that they are what the pipeline really computes; a value that it refuses cannot occur.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters.units._columns import Base, Carried, Domain, Kind
from sklearn_probsr.adapters.units._gathering import Gathering
from sklearn_probsr.adapters.units._place_rows import as_floats
from sklearn_probsr.adapters.units._sharp_cuts import sharpened
from sklearn_probsr.adapters.units._state_labels import Candidate, candidates, extras, label
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.units import Unit

__all__ = ["grouped", "make_units", "tried"]

# States that are looked at together have so many numbers.
_AT_ONCE = 2**20


def grouped(bases: Sequence[Base]) -> dict[tuple[int, str, Hashable], list[int]]:
    """Return the positions of the base columns of each unit, in the order of the raw columns."""
    units: dict[tuple[int, str, Hashable], list[int]] = {}
    for i, base in enumerate(bases):
        units.setdefault(base.unit, []).append(i)
    return dict(sorted(units.items(), key=lambda item: (item[0][0], item[1][0])))


def make_units(
    bases: Sequence[Base],
    raw_names: Sequence[str],
    named: bool,
    binary: NDArray[np.bool_],
    others: Sequence[Base] = (),
) -> list[Unit]:
    """Return the units of some base columns; ``binary`` tells which are 0/1 by their own.

    ``others`` are base columns of raw ones that left the model, and still reach its steps.
    """
    groups = grouped(bases)
    finite = {
        unit[0]: at for unit, at in groups.items() if all(bases[i].kind is Kind.FINITE for i in at)
    }
    found = _Trials(bases, raw_names, named, others).states(finite) if finite else {}
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


def tried(
    bases: Sequence[Base],
    raw_names: Sequence[str],
    named: bool,
    at: Sequence[int],
    values: Sequence[Any],
    others: Sequence[Base] = (),
) -> NDArray[np.float64] | None:
    """Return what some raw values become in the base columns of one unit; None if they are refused.

    The fitted steps are run on made-up rows, whose other columns do not matter.
    """
    return _Trials(bases, raw_names, named, others)._run_one(bases[at[0]].raw, at, values)


def categories(
    bases: Sequence[Base],
    raw_names: Sequence[str],
    named: bool,
    at: Sequence[int],
    others: Sequence[Base] = (),
) -> list[tuple[str, tuple[float, ...]]] | None:
    """Return what the categories of one unit are called, and what each becomes in its columns.

    One is `MISSING`, and one `OTHER`, if they are taken. None if there are numbers among them.
    """
    if not all(bases[i].kind is Kind.FINITE for i in at):
        return None
    raw = bases[at[0]].raw
    found = _Trials(bases, raw_names, named, others).states({raw: list(at)})[raw]
    if any(candidate.place is not None for candidate, _ in found):
        return None
    return [(candidate.text, state) for candidate, state in found if state is not None]


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


class _Trials:
    """Runs of the fitted transformers on made-up raw rows."""

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

    def states(
        self, columns: dict[int, list[int]]
    ) -> dict[int, list[tuple[Candidate, tuple[float, ...] | None]]]:
        """Return what each candidate of some raw columns becomes in their base columns.

        None if the pipeline refuses it: then it cannot occur.
        """
        for raw, at in columns.items():
            self.domains[raw] = sharpened(
                self.domains[raw],
                partial(self._run_one, raw, at),
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

    def _run_one(
        self, raw: int, at: Sequence[int], values: Sequence[Any]
    ) -> NDArray[np.float64] | None:
        """Return what becomes of values of one raw column."""
        return self._run({raw: list(values)}, at)

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
