"""Arrays of a NumPy archive, looked at as declared before they are read."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.results._checked_json import UnsoundError, shown
from sklearn_probsr.results._zip_files import content, listed, pieces

__all__ = ["Declared", "declared", "load"]

_MAGIC = b"\x93NUMPY\x01\x00"
# As numpy.save writes it; to evaluate another form could take any time.
_HEADER = re.compile(
    rb"\{'descr': '([<>|=][a-zA-Z][0-9]{0,9})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,18}(?:, |,(?=\))|(?=\))))*)\), \} *\n"
)


@dataclass(frozen=True)
class Declared:
    """What an archive says of an array that is in it."""

    info: zipfile.ZipInfo
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    start: int

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        return math.prod(self.shape) * self.dtype.itemsize


def declared(file: IO[bytes], kinds: Mapping[str, str]) -> dict[str, Declared]:
    """Return what an archive says of its arrays, of which none is read.

    Parameters
    ----------
    file : binary file
    kinds : mapping of str to str
        The names of all members that there may be, and the kinds of numbers that each may hold, as
        NumPy's ``dtype.kind``; numbers have the width of NumPy's own.
    """
    found = {}
    for filename, info in listed(file).items():
        name = filename.removesuffix(".npy")
        if name == filename or name not in kinds:
            raise UnsoundError(f"{shown(filename)} is an unknown member")
        found[name] = _header(file, info, name, kinds[name])
    return found


def _header(file: IO[bytes], info: zipfile.ZipInfo, name: str, kinds: str) -> Declared:
    start = next(pieces(file, info), b"")
    size = int.from_bytes(start[8:10], "little") + 10
    match = _HEADER.fullmatch(start[10:size])
    if not start.startswith(_MAGIC) or match is None:
        raise UnsoundError(f"{name} must be an array as numpy.save writes it")
    try:
        dtype = np.dtype(match[1].decode())
    except TypeError:
        raise UnsoundError(
            f"{name} must be an array, got type {shown(match[1].decode())}"
        ) from None
    width = {"f": 8, "i": 8, "u": 1}.get(dtype.kind, dtype.itemsize)
    if dtype.kind not in kinds or dtype.itemsize != width:
        allowed = " or ".join(_WORDS[kind] for kind in kinds)
        raise UnsoundError(f"{name} must hold {allowed}, got type {dtype}")
    shape = tuple(int(length) for length in match[3].replace(b",", b" ").split())
    array = Declared(info, dtype, shape, match[2] == b"True", size)
    if size + array.nbytes != info.file_size:
        raise UnsoundError(
            f"{name} must have {size + array.nbytes} bytes for its shape {shape}, it has "
            f"{info.file_size}"
        )
    return array


_WORDS = {
    "b": "booleans",
    "f": "64-bit floats",
    "i": "64-bit integers",
    "u": "bytes",
    "U": "texts",
}


def load(file: IO[bytes], array: Declared) -> NDArray[Any]:
    """Return an array."""
    if not array.nbytes:  # texts without characters cannot be looked at as such
        return np.zeros(array.shape, dtype=array.dtype)
    held = content(file, array.info)[array.start :]
    if array.dtype.kind == "b" and (held > 1).any():
        raise UnsoundError(f"{shown(array.info.filename)} must hold booleans, got {held.max()}")
    flat = held.view(array.dtype)
    found = flat.reshape(array.shape, order="F" if array.fortran else "C")
    return found.astype(array.dtype.newbyteorder("="), copy=False)
