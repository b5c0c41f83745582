"""The card of an adapted model in a notebook: its classes and its features."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.units import Unit
from sklearn_probsr.results.views import card, line, strong, table

__all__ = ["adapted_card"]

_FEATURES, _STATES = 30, 6


def adapted_card(model: Model, units: Sequence[Unit], columns: Sequence[str]) -> str:
    """Return what can be known or unknown, and what it decides, as a card."""
    names = ", ".join(map(str, model.classes))
    kind = "several scores, the largest wins" if model.by_class else "one score and a threshold"
    made = (
        f"{_count(len(columns), 'raw column')}, {_count(model.n_features, 'column')} of the model"
    )
    more = f"{len(units) - _FEATURES:,} more features." if len(units) > _FEATURES else ""
    rows = [(unit.name, _kind(unit), _states(unit)) for unit in units[:_FEATURES]]
    return card(
        line("A model of ", strong(_count(len(units), "feature")), head=True),
        line(f"Classes {names}: {kind}. {made}."),
        table(["feature", "kind", "what it can be"], rows, more),
    )


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _kind(unit: Unit) -> str:
    if unit.states is None:
        return "number, coded" if unit.coded else "number"
    return "yes or no" if unit.is_binary else f"{len(unit.states)} states"


def _states(unit: Unit) -> str:
    """Return what a person calls the states, the first ones if there are many."""
    if unit.states is None:
        wide = len(unit.columns)
        return "any number" if wide == 1 else f"any numbers, in {wide} columns"
    states = [unit.describe(state) for state in unit.states[:_STATES]]
    left = len(unit.states) - len(states)
    return "; ".join([*states, *([f"{left} more"] if left else [])])
