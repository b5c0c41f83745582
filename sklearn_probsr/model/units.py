"""Units: features as persons see them, each the columns of the model that it fills.

A unit may have states (a binary column, one-hot categories, bins) or be real-valued, and groups
make one unit of several.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import fact, listing, told_of, unnamed, value_text

_TIMES = {"1": "once", "2": "twice"}
_BINARY = ((0.0,), (1.0,))
_NUMBERS = {0.0: 0.0, 1.0: 1.0}
# Groups of features with states have all combinations of these as states, up to so many.
_MOST_STATES = 4096


@dataclass(frozen=True)
class Unit:
    """A feature as a person sees it: one or more columns that are known or unknown together.

    Parameters
    ----------
    name : str
        What a person calls the feature.
    columns : sequence of int
        The model's columns that it fills.
    states : sequence of sequences of float, or None, default=None
        The values that its columns can take together, one sequence a state: ``[[0], [1]]`` for a
        binary column, the rows of an identity matrix for one-hot columns, and a row of zeros more
        if one category was dropped. None: real-valued, anything can come.
    labels : sequence of str, default=()
        What a person calls each state; made up from the values when empty. Two for a real-valued
        one, such as a word that is counted: when it is 0, and when it is not.
    coded : bool, default=False
        Whether the columns are made of the feature and are not its own values, such as logarithms
        or splines: their numbers are then told as codes.

    Examples
    --------
    >>> Unit.one_hot("job", [3, 4], labels=["job: clerk", "job: nurse"]).describe([0, 1])
    'job: nurse'
    >>> Unit.one_hot("job", [3, 4], dropped="admin").describe([0, 0])
    'job: admin'
    >>> Unit.real("age", 0).describe([41.5])
    'age = 41.5'
    >>> Unit.real("area", 0, coded=True).describe([6.9])
    'area coded as 6.9'
    >>> Unit.real("area", 0, coded=True).describe([6.9], raw=1001.0)
    'area = 1001'
    """

    name: str
    columns: tuple[int, ...]
    states: tuple[tuple[float, ...], ...] | None = None
    labels: tuple[str, ...] = ()
    coded: bool = False

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "name", str(self.name))
        put(self, "columns", _columns(self.columns, self.name))
        if self.states is not None:
            put(self, "states", _states(self.states, len(self.columns), self.name))
        labels: Any = self.labels
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise InvalidInputError(
                f"unit {self.name!r} must have a sequence of labels, got {self.labels!r}."
            )
        put(self, "labels", tuple(map(str, self.labels)))
        n = 2 if self.states is None else len(self.states)
        if self.labels and len(self.labels) != n:
            raise InvalidInputError(
                f"unit {self.name!r} must have one label per state, {n}, got {len(self.labels)}."
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state)  # checked again

    @classmethod
    def binary(cls, name: str, column: int, labels: Sequence[str] = ()) -> Unit:
        """Return a column of zeros and ones; the labels are those of 0 and of 1."""
        return cls(name, (column,), _BINARY, labels)  # type: ignore[arg-type]

    @classmethod
    def one_hot(
        cls,
        name: str,
        columns: Sequence[int],
        *,
        dropped: bool | str = False,
        labels: Sequence[str] = (),
    ) -> Unit:
        """Return columns of which exactly one is 1, or none for a category that was dropped.

        Parameters
        ----------
        name : str
            What a person calls the feature.
        columns : sequence of int
            The model's columns that it fills.
        dropped : bool or str, default=False
            Whether a row of zeros stands for one category more, or that category's name.
        labels : sequence of str, default=()
            What a person calls each column's category, and the dropped one's last.
        """
        columns = _columns(columns, name)
        states = [tuple(float(i == j) for j in columns) for i in columns]
        texts = list(map(str, labels))
        if dropped:
            states.append((0.0,) * len(columns))
            if isinstance(dropped, str) and len(texts) < len(states):
                texts = texts or [f"{name}: #{j}" for j in range(len(columns))]
                texts.append(f"{name}: {dropped}")
        return cls(name, columns, tuple(states), tuple(texts))

    @classmethod
    def real(cls, name: str, columns: int | Sequence[int], *, coded: bool = False) -> Unit:
        """Return one column, or several that belong together, of any finite numbers."""
        single = np.ndim(columns) == 0 and not isinstance(columns, str)
        return cls(name, (columns,) if single else columns, coded=coded)  # type: ignore[arg-type]

    @property
    def is_binary(self) -> bool:
        """Whether it is one column of zeros and ones."""
        return self.states == _BINARY

    @property
    def has_states(self) -> bool:
        """Whether it always is one of several states, such as categories or bins."""
        return self.states is not None and (len(self.columns) > 1 or len(self.states) > 2)

    def state_of(self, values: Sequence[float]) -> int | None:
        """Return which state some values are; None if they are none."""
        at = tuple(float(v) for v in values)
        return self.states.index(at) if self.states is not None and at in self.states else None

    def _amount(self, values: Sequence[float], raw: Any) -> str:
        """Say how much there is of what has a label: '"server" (twice)'.

        A count is told also where the column is made of it.
        """
        if not any(values):
            return self.labels[0]
        if isinstance(raw, float | np.floating) and raw != values[0]:
            values = [float(raw)]
        elif self.coded:
            told = " and ".join(f"{value:.3g}" for value in values)
            return f"{self.labels[1]} (weight {told})"
        told = " and ".join(map(value_text, values))
        return f"{self.labels[1]} ({_TIMES.get(told, f'{told} times')})"

    def describe(self, values: Sequence[float], raw: Any = None) -> str:
        """Say what the values of its columns mean.

        Parameters
        ----------
        values : sequence of float
            Those of its columns.
        raw : object, default=None
            The value that the columns were made of, which is told where no label says more;
            "missing" if there was none. None: only the columns are known.

        Returns
        -------
        str
        """
        state = self.state_of(values)
        if state is not None and self.labels:
            return told_of(self.name, self.labels[state], raw)
        if self.states is None and self.labels:
            return self._amount(values, raw)
        word = "coded as" if self.coded else "="
        if raw is not None or len(self.columns) == 1:
            return fact(self.name, values[0], raw, word)
        if state is not None and sum(values) == 1:
            return f"{self.name} is in column {self.columns[list(values).index(1)]}"
        return f"{self.name} {word} ({', '.join(map(value_text, values))})"


def _columns(columns: Any, name: str) -> tuple[int, ...]:
    try:
        found = tuple(operator.index(i) for i in columns)
    except TypeError:
        raise InvalidInputError(
            f"unit {name!r} must name its columns by a sequence of indices, got {columns!r}."
        ) from None
    if not found:
        raise InvalidInputError(f"unit {name!r} must have at least one column, got none.")
    return found


def _states(states: Any, width: int, name: str) -> tuple[tuple[float, ...], ...]:
    """Return states as tuples of floats; those of one-hot columns share their zeros and ones."""
    try:
        found = tuple(tuple(map(_NUMBERS.get, state, map(float, state))) for state in states)
    except (TypeError, ValueError):
        found = ()
    sound = all(len(state) == width for state in found) and np.isfinite(found).all()
    if not found or not sound or len(set(found)) != len(found):
        raise InvalidInputError(
            f"unit {name!r} must have different states of {width} finite "
            f"number{'s' if width > 1 else ''} each, got {states!r}."
        )
    return found


def check_units(units: Any, d: int) -> tuple[Unit, ...]:
    """Return units that share out the columns of a model, each to one of them.

    A pair of a name and column indices stands for a binary column, or for one-hot columns if
    there are several; a mapping of names to columns is a sequence of such pairs.
    """
    items = units.items() if isinstance(units, Mapping) else units
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise InvalidInputError(
            f"units must be a sequence of Unit objects or of (name, columns) pairs, got {units!r}."
        )
    found = tuple(_unit(item, i) for i, item in enumerate(items))
    names = [unit.name for unit in found]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInputError(f"units must have unique names, got {twice!r} twice.")
    owner: dict[int, str] = {}
    for unit in found:
        for column in unit.columns:
            if not 0 <= column < d:
                raise InvalidInputError(
                    f"unit {unit.name!r} names column {column}; the model has columns 0 to {d - 1}."
                )
            if column in owner:
                raise InvalidInputError(
                    f"units must not share columns, got column {column} in {owner[column]!r} and "
                    f"{unit.name!r}."
                )
            owner[column] = unit.name
    if len(owner) != d:
        missing = [str(i) for i in range(d) if i not in owner]
        raise InvalidInputError(
            f"units must cover every column of the model, got none for {listing(missing)}."
        )
    return found


def _unit(item: Any, i: int) -> Unit:
    if isinstance(item, Unit):
        return item
    name, columns = f"u{i}", item
    if isinstance(item, tuple | list) and len(item) == 2:
        if isinstance(item[0], str):
            name, columns = item
        elif isinstance(item[1], str):
            columns, name = item
    if isinstance(columns, int | np.integer):
        columns = (columns,)
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise InvalidInputError(
            f"units must be a sequence of Unit objects or of (name, columns) pairs, got {item!r}."
        )
    indices = _columns(columns, name)
    return Unit.binary(name, indices[0]) if len(indices) == 1 else Unit.one_hot(name, indices)


def check_groups(groups: Any, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return which features belong together, by name, or say what is wrong with that."""
    if not isinstance(groups, Mapping):
        raise InvalidInputError(
            "groups must map the name of a group to its features, such as {'address': ['street', "
            f"'city']}}, got {groups!r}."
        )
    known = list(names)
    home: dict[str, str] = {}
    found: dict[str, tuple[str, ...]] = {}
    for group, members in groups.items():
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise InvalidInputError(f"group {group!r} must be a list of features, got {members!r}.")
        inside = tuple(members)
        if not inside:
            raise InvalidInputError(f"group {group!r} must have features, got none.")
        for name in inside:
            if name not in known:
                raise InvalidInputError(
                    f"group {group!r} names an unknown feature, {name!r}. The model's features are "
                    f"{listing(known)}."
                )
            if name in home:
                raise InvalidInputError(
                    f"groups must not share features, got {name!r} in {home[name]!r} and {group!r}."
                )
            home[name] = group
        if group in known and group not in inside:
            raise InvalidInputError(
                f"group {group!r} has the name of a feature that is not in it. Call it otherwise."
            )
        found[str(group)] = inside
    return found


def grouped(model: Any, groups: dict[str, tuple[str, ...]]) -> Any:
    """Return the same model, whose features of a group are one unit."""
    units = model.units
    if units is None:
        units = tuple(Unit.binary(name, j) for j, name in enumerate(model.feature_names))
    home = {name: group for group, members in groups.items() for name in members}
    by_name = {unit.name: unit for unit in units}
    merged: dict[str, Unit] = {}
    for unit in units:
        group = home.get(unit.name)
        if group is None:
            merged[unit.name] = unit
        elif group not in merged:
            merged[group] = _merged(group, [by_name[name] for name in groups[group]])
    arguments = {**model._with(model.feature_names), "units": tuple(merged.values())}
    return type(model)(**arguments)


def _merged(name: str, parts: list[Unit]) -> Unit:
    """Return several units as one."""
    columns = tuple(column for part in parts for column in part.columns)
    if len(parts) == 1:
        return Unit(name, columns, parts[0].states, (), parts[0].coded)
    each = [part.states for part in parts]
    if any(states is None for states in each):
        return Unit(name, columns, None, (), any(part.coded for part in parts))
    if math.prod(len(states or ()) for states in each) > _MOST_STATES:
        return Unit(name, columns)
    states = [sum(some, ()) for some in product(*(states or () for states in each))]
    labels = [f"{name} = ({', '.join(some)})" for some in product(*map(_texts, parts))]
    if len(set(labels)) < len(labels):
        labels = []
    return Unit(name, columns, tuple(states), tuple(labels))


def _texts(unit: Unit) -> list[str]:
    """Return what a person calls the states of a unit, without its name."""
    return [unnamed(unit.name, unit.describe(state)) for state in unit.states or ()]


def encoded(units: Sequence[Unit], n_features: int, X: Any) -> NDArray[np.float64]:
    """Return rows in the columns of a model whose units have the states that a table names."""
    columns, n = _named_values([unit.name for unit in units], X)
    rows = np.zeros((n, n_features))
    for unit in units:
        values = columns[unit.name]
        for i, value in enumerate(values):
            rows[i, list(unit.columns)] = _state(unit, value, i)
    return rows


def _named_values(names: list[str], X: Any) -> tuple[dict[str, list[Any]], int]:
    """Return the values of every unit, by name."""
    if isinstance(X, Sequence) and all(isinstance(row, Mapping) for row in X):
        missing = [(i, name) for i, row in enumerate(X) for name in names if name not in row]
        if missing:
            i, name = missing[0]
            raise InvalidInputError(f"X must have every feature, row {i} lacks {name!r}.")
        return {name: [row[name] for row in X] for name in names}, len(X)
    if not (hasattr(X, "columns") or isinstance(X, Mapping)):
        raise InvalidInputError(
            "X must be a frame with a column for every feature, or a list of mappings, got "
            f"{type(X).__name__}."
        )
    given = list(X.columns if hasattr(X, "columns") else X)
    lacking = [name for name in names if name not in given]
    if lacking:
        raise InvalidInputError(
            f"X must have every feature, it lacks {lacking[0]!r}. It has "
            f"{listing([str(name) for name in given])}."
        )
    found = {name: list(X[name]) for name in names}
    return found, len(found[names[0]])


def _state(unit: Unit, value: Any, i: int) -> Any:
    """Return the columns of a unit in a state, by its label, with or without the unit's name."""
    text = str(value)
    if unit.states is not None and unit.labels:
        for label, state in zip(unit.labels, unit.states, strict=True):
            if text in (label, label.removeprefix(f"{unit.name}: ")):
                return state
        known = [label.removeprefix(f"{unit.name}: ") for label in unit.labels]
        raise InvalidInputError(
            f"{unit.name!r} must be one of {listing(known)}, got {value!r} in row {i}."
        )
    try:
        numbers = np.array(value, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if len(numbers) != len(unit.columns):
        raise InvalidInputError(
            f"{unit.name!r} must be {len(unit.columns)} numbers, got {value!r} in row {i}."
        )
    return numbers
