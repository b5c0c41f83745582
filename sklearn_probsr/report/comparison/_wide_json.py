"""Wide tables and sets of features in JSON: by what is in them, and not cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.report.comparison._wide_tables import Wide
from sklearn_probsr.results._checked_json import UnsoundError, flat, members, shown, wholes

__all__ = ["plain_bits", "plain_sets", "plain_table", "read_sets", "read_table"]

_PARTS = ("lines", "line", "columns", "values")


def plain_sets(sets: FeatureSets) -> dict[str, Any]:
    """Return sets as JSON has them: the features of each, in the order in which they are told."""
    return {"sets": [list(inside) for inside in sets]}


def plain_bits(sets: FeatureSets) -> list[list[int]]:
    """Return sets as flags of all features, eight to a byte."""
    bits: list[list[int]] = np.packbits(sets.mask(), axis=1).tolist()
    return bits


def plain_table(table: Any, plain: Callable[[Any], Any]) -> Any:
    """Return a table as JSON has it: all of its cells, or lines and what differs from them."""
    if not isinstance(table, Wide):
        return [[plain(cell) for cell in row] for row in table.tolist()]
    told = [plain(cell) for cell in table.values.tolist()]
    ends = table.places.indptr.tolist()
    return {
        "lines": [[plain(cell) for cell in line] for line in table.lines.tolist()],
        "line": table.line.tolist(),
        "columns": [list(columns) for columns in table.places],
        "values": [told[a:b] for a, b in pairwise(ends)],
    }


def read_sets(told: Any, name: str, shape: tuple[int, int]) -> FeatureSets:
    """Return sets of features, or say what is wrong with them."""
    lists = flat(members(told, name, ("sets",))["sets"], f"{name}.sets", (shape[0],))
    return _sets(lists, f"{name}.sets", shape[1])


def _sets(lists: list[Any], name: str, width: int) -> FeatureSets:
    for i, inside in enumerate(lists):
        features = flat(inside, f"{name}[{i}]", (None,))
        wholes(features, f"{name}[{i}]", (len(features),), width - 1)
        if len(set(features)) != len(features):
            raise UnsoundError(f"{name}[{i}] must hold different features, got {shown(features)}")
    return FeatureSets.of_lists(lists, width)


def read_table(
    told: Any,
    name: str,
    shape: tuple[int, int],
    read: Callable[[Any, str, tuple[int, ...]], NDArray[Any]],
) -> Any:
    """Return a table, or say what is wrong with it; ``read`` checks cells of a shape."""
    if not isinstance(told, dict):
        return read(told, name, shape)
    told, (n, width) = members(told, name, _PARTS), shape
    lines = flat(told["lines"], f"{name}.lines", (None,))
    if not lines:
        raise UnsoundError(f"{name}.lines must hold at least one line")
    filled = read(lines, f"{name}.lines", (len(lines), width))
    line = wholes(told["line"], f"{name}.line", (n,), len(lines) - 1).astype(np.intp)
    places = _sets(flat(told["columns"], f"{name}.columns", (n,)), f"{name}.columns", width)
    parts = flat(told["values"], f"{name}.values", (n,))
    for i, part in enumerate(parts):
        flat(part, f"{name}.values[{i}]", (int(places.sizes[i]),))
    cells = [cell for part in parts for cell in part]
    return Wide(filled, line, places, read(cells, f"{name}.values", (len(cells),)))
