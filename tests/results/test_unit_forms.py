"""Forms of units: a number stands for all of a unit but its name, and for nothing long."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr import Unit
from sklearn_probsr.results._checked_json import UnsoundError
from sklearn_probsr.results._unit_forms import form_at, form_of, read_forms, unit_bytes, unit_of

FLAG = ((0.0,), (1.0,))
WORD = {"flag": True, "coded": False, "within": False, "labels": [['no "', '"'], ['"', '"']]}


def test_words_have_one_form_whatever_their_names_are():
    """Counted or not, of a column of texts or not, or hashed."""
    for make in (
        lambda name: Unit(name, (3,), FLAG, (f'no "{name}"', f'"{name}"')),
        lambda name: Unit(name, (3,), None, (f'no "{name}"', f'"{name}"'), coded=True),
        lambda name: Unit(f"title: {name}", (3,), None, (f'title: no "{name}"', f'"{name}"')),
        lambda name: Unit(name, (3,), None, (f"no {name}", name)),
        lambda name: Unit.real(name, 3),
    ):
        units = [make(name) for name in ("server", 'a "b"', "no", "5", ": ")]
        forms = [form_of(unit, 3, unit.name) for unit in units]
        assert len(set(forms)) == 1
        assert forms[0] is not None
        assert [unit_of(forms[0], 3, unit.name) for unit in units] == units


@given(st.text(max_size=6), st.text(max_size=6), st.text(max_size=40), st.integers(0, 3))
def test_a_form_gives_the_same_unit_or_there_is_none(name: str, one: str, other: str, column: int):
    """Labels may be anything: the name once, twice or not at all."""
    for labels in ((), (one, other), (name + one, other + name), (name * 2, other + name + one)):
        for states in (None, FLAG, ((1.0,), (0.0,))):
            unit = Unit(name, (3,), states, labels)
            form = form_of(unit, column, name)
            assert form is None or unit_of(form, column, name) == unit


def test_what_differs_in_more_than_its_name_is_written_out():
    """Another column, other states, another name, or long labels."""
    for unit, column, name in (
        (Unit.real("a", 2), 3, "a"),
        (Unit.real("b", 3), 3, "a"),
        (Unit("a", (3, 4)), 3, "a"),
        (Unit("a", (3,), ((1.0,), (0.0,)), ("no a", "a")), 3, "a"),
        (Unit("a", (3,), ((0.0,), (1.0,), (2.0,))), 3, "a"),
        (Unit("a", (3,), None, ("none", "a")), 3, "a"),
        (Unit("a", (3,), None, ("no a" + "!" * 40, "a")), 3, "a"),
    ):
        assert form_of(unit, column, name) is None


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({}, r"forms must be a list, got \{\}"),
        ([{**WORD, "flag": 1}], r"forms\[0\].flag must be true or false, got 1"),
        ([{**WORD, "labels": ["a", "b"]}], r"forms\[0\].labels must be a list of lists, got 'a'"),
        (
            [{**WORD, "labels": [["a" * 33, "b"], ["c", "d"]]}],
            r"forms\[0\].labels must have at most 32 signs around a word, got 'a{33}'",
        ),
        ([WORD, {**WORD, "more": 1}], r"forms\[1\] has an unknown member 'more'"),
    ],
)
def test_forms_that_somebody_made_up(told: Any, why: str):
    """What is wrong with them is told, before any unit is made."""
    with pytest.raises(UnsoundError, match=f"^{why}$"):
        read_forms(told, "forms")


def test_units_that_somebody_made_up():
    """A number must be one of a form, and what units will take is counted."""
    forms = read_forms([WORD], "forms")
    assert form_at(0, forms, "units[7]") == forms[0]
    for wrong in (1, -1):
        with pytest.raises(
            UnsoundError, match=rf"^units\[7\] must be a whole number from 0 to 0, got {wrong}$"
        ):
            form_at(wrong, forms, "units[7]")
    assert unit_bytes({"units": [0] * 1000}) == 500_000
    assert unit_bytes({"units": [{}, None, True]}) == unit_bytes({"units": 3}) == unit_bytes(3) == 0
