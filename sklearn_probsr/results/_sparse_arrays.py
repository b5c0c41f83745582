"""Sparse rows in archives: three arrays in place of one, for what is not zero alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.results._archive_arrays import Declared, load
from sklearn_probsr.results._checked_json import UnsoundError

__all__ = ["KINDS", "DeclaredRows", "gathered", "split"]

# What may be sparse, and what the parts of it hold.
_NAMES = ("more/data", "reasons/rows", "law/rows")
_PARTS = {"starts": "i", "indices": "i", "values": "bf"}
KINDS = {f"{name}/{part}": kind for name in _NAMES for part, kind in _PARTS.items()}


def split(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays with the parts of sparse rows in place of these."""
    found: dict[str, Any] = {}
    for name, array in held.items():
        if isinstance(array, SparseRows):
            found[f"{name}/starts"] = array.starts
            found[f"{name}/indices"] = array.indices.astype(np.int64)
            found[f"{name}/values"] = array.values
        else:
            found[name] = array
    return found


@dataclass(frozen=True)
class DeclaredRows:
    """What an archive says of sparse rows that are in it."""

    name: str
    parts: dict[str, Declared]
    width: int

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows and columns there are."""
        return self.parts["starts"].shape[0] - 1, self.width

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return sum(part.nbytes for part in self.parts.values())

    def load(self, file: IO[bytes]) -> SparseRows:
        """Return the rows, or say what is wrong with them."""
        starts, indices, values = (load(file, self.parts[part]) for part in _PARTS)
        if not (starts[0] == 0 and starts[-1] == len(values) and (starts[1:] >= starts[:-1]).all()):
            raise UnsoundError(
                f"{self.name}/starts must rise from 0 to how many numbers {self.name}/values has"
            )
        if not ((indices >= 0) & (indices < self.width)).all():
            raise UnsoundError(
                f"{self.name}/indices must hold whole numbers from 0 to {self.width - 1}"
            )
        rises = np.ones(len(indices), dtype=np.bool_)
        rises[1:] = indices[1:] > indices[:-1]
        rises[starts[:-1][starts[:-1] < len(indices)]] = True  # a row may begin anywhere
        if not rises.all():
            raise UnsoundError(f"{self.name}/indices must rise in every row")
        if not (np.isfinite(values) & (values != 0)).all():
            raise UnsoundError(f"{self.name}/values must hold finite numbers other than 0")
        return SparseRows(starts, indices.astype(np.int32), values, self.width)


def gathered(said: Mapping[str, Declared], width: int) -> dict[str, Declared | DeclaredRows]:
    """Return what an archive says of its arrays, the parts of sparse rows as one."""
    found: dict[str, Declared | DeclaredRows] = {k: v for k, v in said.items() if k not in KINDS}
    for name in _NAMES:
        parts = {part: said[f"{name}/{part}"] for part in _PARTS if f"{name}/{part}" in said}
        if not parts:
            continue
        for part in _PARTS:
            if part not in parts:
                raise UnsoundError(f"{name}/{part} is missing")
            if len(parts[part].shape) != 1:
                raise UnsoundError(f"{name}/{part} must be a vector, got {parts[part].shape}")
        if name in said:
            raise UnsoundError(f"{name} is there twice")
        if not parts["starts"].shape[0]:
            raise UnsoundError(f"{name}/starts must hold at least one number")
        if parts["indices"].shape != parts["values"].shape:
            raise UnsoundError(
                f"{name}/indices must have shape {parts['values'].shape}, got "
                f"{parts['indices'].shape}"
            )
        found[name] = DeclaredRows(name, parts, width)
    return found
