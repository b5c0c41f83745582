"""Forms of units: of very many, each is written in a file as the number of its form.

A hundred thousand words differ in their names alone: what is said when one is there and when it is
not is made of the name. In full, such units would be most of a file, and all of its memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sklearn_probsr.model.units import Unit
from sklearn_probsr.results._checked_json import (
    UnsoundError,
    flag,
    flat,
    members,
    shown,
    text,
    whole,
)

__all__ = ["Form", "form_at", "form_of", "read_forms", "unit_bytes", "unit_of"]

# About what a unit takes that a number stands for.
_BYTES = 500
# Longer text around a name is written out, so that a short file cannot become a long one.
_LONGEST = 32
_FLAG = ((0.0,), (1.0,))


class Form(NamedTuple):
    """All of a unit but its name, which is that of its one column.

    ``labels`` are two, what stands before and behind the word of each, or none. The word is the
    name, or ``within`` a column of texts what comes after that.
    """

    flag: bool
    coded: bool
    within: bool
    labels: tuple[tuple[str, str], ...]


def form_of(unit: Unit, column: int, name: str) -> Form | None:
    """Return the form of a unit, if it is that column and nothing has to be written out."""
    for within in (False, True):
        around = (_around(label, _word(name, within)) for label in unit.labels)
        labels = tuple(pair for pair in around if pair is not None)
        form = Form(unit.states is not None, unit.coded, within, labels)
        if len(labels) == len(unit.labels) and unit == unit_of(form, column, name):
            return form
    return None


def unit_of(form: Form, column: int, name: str) -> Unit:
    """Return the unit of a form that is a column."""
    word = _word(name, form.within)
    labels = tuple(f"{before}{word}{behind}" for before, behind in form.labels)
    return Unit(name, (column,), _FLAG if form.flag else None, labels, form.coded)


def _word(name: str, within: bool) -> str:
    return name.partition(": ")[2] if within else name


def _around(label: str, word: str) -> tuple[str, str] | None:
    """Return what stands before and behind a word; None if it is not there, or that is long."""
    before, found, behind = label.rpartition(word) if word else ("", "", "")
    return (before, behind) if found and len(before) + len(behind) <= _LONGEST else None


def read_forms(told: Any, name: str) -> list[Form]:
    """Return the forms that somebody wrote down."""
    return [_form(entry, f"{name}[{k}]") for k, entry in enumerate(flat(told, name, (None,)))]


def _form(told: Any, name: str) -> Form:
    told = members(told, name, Form._fields)
    around = flat(told["labels"], f"{name}.labels", (None, 2))
    for part in around:
        text(part, f"{name}.labels")
        if len(part) > _LONGEST:
            raise UnsoundError(
                f"{name}.labels must have at most {_LONGEST} signs around a word, got {shown(part)}"
            )
    pairs = tuple(zip(around[::2], around[1::2], strict=True))
    is_flag, coded, within = (flag(told[key], f"{name}.{key}") for key in Form._fields[:3])
    return Form(is_flag, coded, within, pairs)


def unit_bytes(model: Any) -> int:
    """Return about how many bytes the units take that numbers stand for in what was written."""
    units = model.get("units") if isinstance(model, dict) else None
    return _BYTES * sum(type(unit) is int for unit in units) if isinstance(units, list) else 0


def form_at(told: Any, forms: Sequence[Form], name: str) -> Form:
    """Return the form of a number that somebody wrote down."""
    return forms[whole(told, name, 0, len(forms) - 1)]
