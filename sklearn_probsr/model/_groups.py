"""Groups: several features of a model that are known or unknown together, as one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, TypeVar

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import listing, unnamed
from sklearn_probsr.model.units import Unit

__all__ = ["check_groups", "grouped"]

M = TypeVar("M", bound=Model)

# Groups of features with states have all combinations of these as states, up to so many.
_MOST_STATES = 4096


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


def grouped(model: M, groups: dict[str, tuple[str, ...]]) -> M:
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
