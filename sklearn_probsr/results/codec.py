"""Files that hold data and no code: a schema says what is in one; it is written, read, or refused.

A file is a zip archive of NumPy arrays; one of them, ``meta``, is a JSON text. A schema has groups
of fields. Each is declared once, as an `Array` or as a `Kind` of value in the JSON text, and is
written and read by that alone. Whoever wrote a file may be careless or hostile, so

- nothing is unpacked before the sizes that the archive declares were summed and found bearable, and
  none of it further than it says;
- nothing costs more than the file is long once unpacked;
- whatever is wrong is an `UnsoundError` that names the field, what it must be, and what it is.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import math
import os
import platform
import re
import sys
import uuid
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from reprlib import Repr
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.sparse import SparseRows

# Without max_bytes, a file may become this large, or so many times what it is.
_SMALL, _TIMES = 1 << 26, 50
# Longer numbers than Python itself reads unasked; to read one takes quadratic time.
_DIGITS = 4300
# What numbers are in files, by NumPy's kinds, and in messages.
_TYPES = {"b": "|b1", "f": "<f8", "i": "<i8", "u": "|u1"}
_TYPE_NAMES = {"b": "booleans", "f": "64-bit floats", "i": "64-bit integers", "u": "bytes"}
_LONGEST_HEADER = 4096
_LONGEST_REASON = 500
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60

# The lengths that the arrays of a file share, by name.
Lengths = Mapping[str, int]


class UnsoundError(ValueError):
    """What is wrong with a file, and in which field of it."""


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Say that something is not ``what``, and why, however reading it ends."""
    try:
        yield
    except (UnsoundError, InvalidInputError) as error:
        reason = str(error).rstrip(".")
        reason = reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]} ..."
        raise InvalidInputError(f"{what}: {reason}.") from error
    except Exception as error:  # what somebody has made up may break in any way
        reason = shown(f"{type(error).__name__}: {error}")[1:-1].rstrip(".")
        raise InvalidInputError(f"{what}: {reason}.") from error


def shown(value: Any) -> str:
    """Return a value as an error shows it: short, and in one line."""
    return _SHORT.repr(value)


# --- values in the JSON text -----------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """What a value in a JSON text may be.

    Attributes
    ----------
    read : callable
        Takes what JSON has, the name of the field and the lengths that arrays have; returns the
        value, or raises `UnsoundError`.
    write : callable
        Takes the value, and returns what JSON has.
    """

    read: Callable[[Any, str, Lengths], Any]
    write: Callable[[Any], Any] = lambda value: value


def kind_of(what: str, holds: Callable[[Any], bool]) -> Kind:
    """Return the kind of the values that hold; ``what`` says in messages what these are."""

    def read(value: Any, name: str, _: Lengths) -> Any:
        if not holds(value):
            raise UnsoundError(f"{name} must be {what}, got {shown(value)}")
        return value

    return Kind(read)


def _is_text(value: Any) -> bool:
    """Whether something is a text that can be written; half of a character cannot."""
    if type(value) is not str:
        return False
    try:
        return bool(value.isascii() or value.encode())
    except UnicodeEncodeError:
        return False


def _is_label(value: Any) -> bool:
    is_number = type(value) is float and not math.isnan(value)
    return _is_text(value) or type(value) in {int, bool} or is_number


def _plain_label(label: Any) -> Any:
    value = label.item() if isinstance(label, np.generic) else label
    if not isinstance(value, str | int | float | bool):
        raise InvalidInputError(
            f"Class labels must be text, numbers or booleans to be saved, got {label!r}."
        )
    return value


def plain_value(value: Any) -> Any:
    """Return a value that JSON has; one that is neither text nor number as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool | None) else str(value)


FLAG = kind_of("true or false", lambda value: type(value) is bool)
TEXT = kind_of("a text of whole characters", _is_text)
LABEL = Kind(kind_of("a text, a number or a boolean", _is_label).read, _plain_label)
CELL = Kind(
    kind_of(
        "a text, a number or null",
        lambda value: _is_text(value) or type(value) in {int, float, bool, type(None)},
    ).read,
    plain_value,
)


def number(low: float = -math.inf, high: float = math.inf) -> Kind:
    """Return the kind of finite numbers in a range."""
    what = "a finite number" if math.isinf(high) else f"a number from {low:g} to {high:g}"

    def holds(value: Any) -> bool:
        inside = type(value) in {int, float} and low <= value <= high
        return inside and abs(value) <= sys.float_info.max

    return Kind(kind_of(what, holds).read, float)


def whole(low: int, high: int = 2**63 - 1) -> Kind:
    """Return the kind of whole numbers in a range."""
    what = f"a whole number from {low} to {high}"
    return Kind(kind_of(what, lambda v: type(v) is int and low <= v <= high).read, int)


def place(length: str) -> Kind:
    """Return the kind of the places in something as long as arrays are, such as a row."""
    return Kind(lambda v, name, lengths: whole(0, lengths[length] - 1).read(v, name, lengths), int)


def one_of(*words: str) -> Kind:
    """Return the kind of some words."""
    known = ", ".join(map(repr, words))
    return kind_of(f"one of {known}", lambda value: type(value) is str and value in words)


def fraction(digits: int = _DIGITS, high: float = math.inf) -> Kind:
    """Return the kind of fractions of at least 0 that two whole numbers write."""
    form = re.compile(rf"([0-9]{{1,{digits}}})(?:/([0-9]{{1,{digits}}}))?")
    what = "a fraction, such as '3/2'" if high > 1 else "a fraction from 0 to 1, such as '1/3'"

    def read(value: Any, name: str, _: Lengths) -> Fraction:
        found = form.fullmatch(value) if type(value) is str else None
        below = 0 if found is None else int(found[2] or 1)
        if found is None or not below or int(found[1]) > high * below:
            raise UnsoundError(f"{name} must be {what}, got {shown(value)}")
        return Fraction(int(found[1]), below)

    return Kind(read, str)


def maybe(kind: Kind) -> Kind:
    """Return the kind of values that may be None."""
    return Kind(
        lambda value, name, lengths: None if value is None else kind.read(value, name, lengths),
        lambda value: None if value is None else kind.write(value),
    )


def many(kind: Kind, length: str | None = None, *, different: bool = False) -> Kind:
    """Return the kind of lists, if ``length`` is told of as many values as arrays are long."""

    def read(value: Any, name: str, lengths: Lengths) -> list[Any]:
        if type(value) is not list:
            raise UnsoundError(f"{name} must be a list, got {shown(value)}")
        if length is not None and len(value) != lengths[length]:
            raise UnsoundError(f"{name} must hold {lengths[length]} values, got {len(value)}")
        found = [kind.read(entry, name, lengths) for entry in value]
        if different and len(set(found)) < len(found):
            raise UnsoundError(f"{name} must hold different values, got {shown(found)}")
        return found

    return Kind(read, lambda value: [kind.write(entry) for entry in value])


def pair(*kinds: Kind) -> Kind:
    """Return the kind of tuples, each entry of a kind of its own."""

    def read(value: Any, name: str, lengths: Lengths) -> tuple[Any, ...]:
        if type(value) is not list or len(value) != len(kinds):
            raise UnsoundError(f"{name} must hold lists of {len(kinds)}, got {shown(value)}")
        return tuple(k.read(entry, name, lengths) for k, entry in zip(kinds, value, strict=True))

    return Kind(read, lambda v: [k.write(entry) for k, entry in zip(kinds, v, strict=True)])


def mapping(key: Kind, kind: Kind) -> Kind:
    """Return the kind of dictionaries, which JSON has as pairs."""
    pairs = many(pair(key, kind))

    def read(value: Any, name: str, lengths: Lengths) -> dict[Any, Any]:
        found = pairs.read(value, name, lengths)
        if len(dict(found)) < len(found):
            raise UnsoundError(f"{name} must hold different keys, got {shown(value)}")
        return dict(found)

    return Kind(read, lambda value: pairs.write(list(value.items())))


def record(**kinds: Kind) -> Kind:
    """Return the kind of objects that have these members and no others."""

    def read(value: Any, name: str, lengths: Lengths) -> dict[str, Any]:
        check_members(value, name, kinds)
        return {key: k.read(value[key], f"{name}.{key}", lengths) for key, k in kinds.items()}

    return Kind(read, lambda value: {key: k.write(value[key]) for key, k in kinds.items()})


def cells(rows: str, columns: str) -> Kind:
    """Return the kind of tables of texts, numbers and gaps, as a person reads them."""
    lines = many(many(CELL, columns), rows)

    def read(value: Any, name: str, lengths: Lengths) -> NDArray[Any]:
        found = np.empty((lengths[rows], lengths[columns]), dtype=object)
        for i, line in enumerate(lines.read(value, name, lengths)):
            found[i] = line
        return found

    return Kind(read, lines.write)


def check_members(value: Any, name: str, known: Collection[str]) -> None:
    """Refuse what is no object that has the members that are known, and no others."""
    if not isinstance(value, dict):
        raise UnsoundError(f"{name} must be an object, got {shown(value)}")
    for key in known:
        if key not in value:
            raise UnsoundError(f"{name} lacks {key!r}")
    for key in value:
        if key not in known:
            raise UnsoundError(f"{name} has an unknown member {shown(key)}")


def parsed(source: str | bytes, name: str) -> Any:
    """Return the values of a JSON text in which no name occurs twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise UnsoundError(f"{shown(key)} is there twice")
            found[key] = value
        return found

    def integer(digits: str) -> int:
        if len(digits) > _DIGITS:
            raise UnsoundError(f"a number of {len(digits)} digits is too long")
        return int(digits)

    try:
        return json.loads(source, object_pairs_hook=once, parse_int=integer)
    except RecursionError:
        raise UnsoundError(f"{name} is nested too deeply") from None
    except UnicodeDecodeError:
        raise UnsoundError(f"{name} must be JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        raise UnsoundError(f"{name} must be JSON: {error}") from None


def json_size(source: bytes) -> int:
    """Return about how many bytes the values of a JSON text take, at most, without reading it."""
    count = source.count
    return 2 * len(source) + 40 * count(b",") + 72 * count(b"[") + 250 * count(b"{")


# --- arrays ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    """What an array in a file may be.

    Parameters
    ----------
    kinds : str
        Those of NumPy's ``dtype.kind`` that its numbers may have: "b", "f", "i" or "u".
    shape : tuple of str, or None, default=None
        The names of its lengths, with "+1" behind one that is longer by one: arrays with the same
        name have the same length. None: any shape.
    low, high : float, or None, default=None
        The range of its numbers, in which no NaN is; ``high`` may be the name of a length. None:
        any numbers.
    words : tuple of str, default=()
        The words of which it holds the places; they are what is written and read.
    sparse : bool, default=False
        Whether it may be `SparseRows`.
    optional : bool, default=False
        Whether it may be missing, as None.
    """

    kinds: str
    shape: tuple[str, ...] | None = None
    low: float | None = None
    high: float | str | None = None
    words: tuple[str, ...] = ()
    sparse: bool = False
    optional: bool = False

    def parts(self, name: str, value: Any) -> dict[str, NDArray[Any]]:
        """Return the arrays that are written for a value, by name."""
        if value is None:
            return {}
        if isinstance(value, SparseRows):
            return {
                f"{name}/starts": value.starts,
                f"{name}/indices": value.indices.astype(np.int64),
                f"{name}/values": value.values,
            }
        if self.words:
            known = {word: k for k, word in enumerate(self.words)}
            value = np.array([known[word] for word in value.tolist()], dtype=np.uint8)
        return {name: np.asarray(value)}


# The parts of sparse rows, and what they hold.
_SPARSE = {"starts": "i", "indices": "i", "values": "bf"}


@dataclass(frozen=True)
class _Member:
    """What an archive says of an array that is in it."""

    info: zipfile.ZipInfo
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def load(self, file: IO[bytes]) -> NDArray[Any]:
        """Return the array, which nobody may write into."""
        held = content(file, self.info)
        start = len(held) - self.dtype.itemsize * math.prod(self.shape)
        if self.dtype.kind == "b" and (np.frombuffer(held, np.uint8, offset=start) > 1).any():
            raise UnsoundError(f"{self.info.filename} must hold booleans")
        return np.frombuffer(held, self.dtype, offset=start).reshape(self.shape)


def _member(file: IO[bytes], info: zipfile.ZipInfo, name: str, kinds: str) -> _Member:
    """Return what an archive says of an array, of which no more than the header is read."""
    from numpy.lib import format as npy

    with zipfile.ZipFile(file) as archive, archive.open(info) as part:
        start = io.BytesIO(part.read(min(_LONGEST_HEADER, info.file_size)))
    try:
        if npy.read_magic(start) != (1, 0):
            raise ValueError("another version")
        shape, fortran, dtype = npy.read_array_header_1_0(start, max_header_size=_LONGEST_HEADER)
    except Exception as error:
        raise UnsoundError(f"{name} must be an array as numpy.save writes it") from error
    if dtype.str not in {_TYPES[kind] for kind in kinds}:
        allowed = " or ".join(_TYPE_NAMES[kind] for kind in kinds)
        raise UnsoundError(f"{name} must hold {allowed}, got type {shown(str(dtype))}")
    size = start.tell() + math.prod(shape) * dtype.itemsize
    if fortran or min(shape, default=0) < 0 or size != info.file_size:
        raise UnsoundError(
            f"{name} must have {shown(size)} bytes in C order for its shape {shown(shape)}, it has "
            f"{info.file_size}"
        )
    return _Member(info, dtype, shape)


class _Lengths(dict[str, int]):
    """Lengths by name: that of the first array that has one is what the others must have."""

    def bind(self, name: str, shape: tuple[int, ...], said: tuple[str, ...] | None) -> None:
        """Refuse an array whose shape is not what is said of it."""
        if said is None:
            return
        if len(shape) != len(said):
            raise UnsoundError(f"{name} must have {len(said)} dimensions, got shape {shape}")
        wanted = []
        for key, length in zip(said, shape, strict=True):
            more = key.endswith("+1")
            wanted.append(self.setdefault(key.removesuffix("+1"), max(length - more, 0)) + more)
        if tuple(wanted) != shape:
            raise UnsoundError(f"{name} must have shape {tuple(wanted)}, got {shape}")


def _loaded(
    file: IO[bytes], field: Array, name: str, members: Mapping[str, _Member], lengths: Lengths
) -> Any:
    """Return an array, sparse rows, or words, or say which number cannot be in it."""
    if name not in members:
        if f"{name}/starts" in members:
            parts = {part: members[f"{name}/{part}"].load(file) for part in _SPARSE}
            width = lengths[(field.shape or ("",))[-1]]
            return _sparse_rows(name, width, **parts)
        return None
    found = members[name].load(file)
    if field.words:
        if (found >= len(field.words)).any():
            raise UnsoundError(f"{name} must hold places of words, got {found.max()}")
        return np.array(field.words)[found]
    if field.low is not None:
        high: Any = lengths[field.high] if isinstance(field.high, str) else field.high
        sound = (found >= field.low) & (found <= (math.inf if high is None else high))
        if not sound.all():
            row = int(np.flatnonzero(~sound)[0])
            what = f"numbers from {field.low:g} on" if high is None else (
                f"numbers from {field.low:g} to {high:g}"
            )  # fmt: skip
            raise UnsoundError(f"{name} must hold {what}, got {found[row]} in row {row}")
    return found


def _sparse_rows(
    name: str,
    width: int,
    starts: NDArray[np.int64],
    indices: NDArray[np.int64],
    values: NDArray[Any],
) -> SparseRows:
    """Return sparse rows, or say what is wrong with them."""
    if not (starts[0] == 0 and starts[-1] == len(values) and (starts[1:] >= starts[:-1]).all()):
        raise UnsoundError(f"{name}/starts must rise from 0 to how many numbers {name}/values has")
    if not ((indices >= 0) & (indices < width)).all():
        raise UnsoundError(f"{name}/indices must hold whole numbers from 0 to {width - 1}")
    rises = np.ones(len(indices), dtype=np.bool_)
    rises[1:] = indices[1:] > indices[:-1]
    rises[starts[:-1][starts[:-1] < len(indices)]] = True  # a row may begin anywhere
    if not rises.all():
        raise UnsoundError(f"{name}/indices must rise in every row")
    if not (np.isfinite(values) & (values != 0)).all():
        raise UnsoundError(f"{name}/values must hold finite numbers other than 0")
    return SparseRows(starts, indices.astype(np.int32), values, width)


# --- archives --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cases:
    """A group of which the member ``kind`` says which fields it has."""

    fields: Mapping[str, Mapping[str, Kind | Array]]


Schema = Mapping[str, Mapping[str, Kind | Array] | Cases]


@dataclass(frozen=True)
class Room:
    """How many bytes a file takes so far and may take, and about how many its JSON values do."""

    total: int
    most: int
    texts: int = 0

    def take(self, more: int, texts: int = 0) -> Room:
        """Return the room that is left with more bytes taken, or refuse them."""
        total = self.total + more + texts
        if total > self.most:
            raise UnsoundError(
                f"it takes {total:,} bytes unpacked, more than the {self.most:,} that it may; if "
                f"you trust it, pass max_bytes={total}"
            )
        return Room(total, self.most, self.texts + texts)


def check_max_bytes(max_bytes: Any) -> None:
    """Refuse a limit that is none."""
    if max_bytes is None:
        return
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int | np.integer) or max_bytes < 1:
        raise InvalidInputError(
            f"max_bytes must be None or a whole number >= 1, got {shown(max_bytes)}."
        )


def write(
    path: Path, form: str, schema: Schema, held: Mapping[str, Mapping[str, Any]], *, plain: bool
) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    path : Path
    form : str
        The name and version of what is written.
    schema : mapping of str to fields
    held : mapping of str to mapping of str to object
        The value of each field, by group and name.
    plain : bool
        Whether the JSON text is not compressed: a file may become fifty times what it is, and one
        of very many names would become more.
    """
    arrays: dict[str, NDArray[Any]] = {}
    meta: dict[str, Any] = {"format": form}
    for group, fields in schema.items():
        told: dict[str, Any] = {}
        if isinstance(fields, Cases):
            told["kind"] = held[group]["kind"]
            known = fields.fields[told["kind"]]
        else:
            known = fields
        for name, field in known.items():
            if isinstance(field, Kind):
                told[name] = field.write(held[group][name])
            else:
                arrays |= field.parts(f"{group}/{name}", held[group][name])
        meta[group] = told
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)

    def pack(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in arrays.items():
                member = zipfile.ZipInfo(f"{name}.npy")
                stored = plain and name == "meta"
                member.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
                with archive.open(member, "w", force_zip64=True) as inside:
                    typed = np.ascontiguousarray(array, dtype=_TYPES[array.dtype.kind])
                    np.lib.format.write_array(inside, typed, version=(1, 0), allow_pickle=False)

    atomically(path, pack)


def read(
    file: IO[bytes],
    form: str,
    schema: Schema,
    max_bytes: int | None,
    same: Mapping[str, str],
) -> tuple[dict[str, dict[str, Any]], Lengths, Room]:
    """Read what `write` wrote, or say what is wrong with it.

    Parameters
    ----------
    file : binary file
    form : str
    schema : mapping of str to fields
    max_bytes : int or None
        The most bytes that arrays and texts may take; None: 64 MiB, or 50 times the file.
    same : mapping of str to str
        Names of lengths that are those of others where no array has them.

    Returns
    -------
    held : dict of str to dict of str to object
    lengths : mapping of str to int
        The lengths of the arrays, by the names that the schema has for them.
    room : Room
        Of what is made of these.

    Raises
    ------
    UnsoundError
        If a field is not what the schema says; it is named.
    """
    size = file.seek(0, os.SEEK_END)
    infos = listed(file)
    most = max(_SMALL, _TIMES * size) if max_bytes is None else int(max_bytes)
    room = Room(0, most).take(sum(info.file_size for info in infos.values()))
    if "meta.npy" not in infos:
        raise UnsoundError("meta is missing")
    text = _member(file, infos.pop("meta.npy"), "meta", "u")
    source = text.load(file).tobytes()
    room = room.take(0, json_size(source))
    meta = parsed(source, "meta")
    # A file of another version is told as such, whatever else it has.
    if not isinstance(meta, dict) or meta.get("format") != form:
        got = meta.get("format") if isinstance(meta, dict) else meta
        raise UnsoundError(f"meta must have the format {form!r}, got {shown(got)}")
    check_members(meta, "meta", ("format", *schema))
    fields = {group: _fields(group, schema[group], meta[group]) for group in schema}
    arrays = {
        f"{group}/{name}": field
        for group, known in fields.items()
        for name, field in known.items()
        if isinstance(field, Array)
    }
    lengths = _Lengths()
    members = _members(file, infos, arrays, lengths)
    for name, other in same.items():
        lengths.setdefault(name, lengths.get(other, 0))
    found = {name: _loaded(file, f, name, members, lengths) for name, f in arrays.items()}
    held: dict[str, dict[str, Any]] = {}
    for group, known in fields.items():
        held[group] = {"kind": meta[group]["kind"]} if isinstance(schema[group], Cases) else {}
        for name, field in known.items():
            held[group][name] = (
                found[f"{group}/{name}"]
                if isinstance(field, Array)
                else field.read(meta[group][name], f"meta.{group}.{name}", lengths)
            )
    return held, lengths, room


def _fields(
    group: str, fields: Mapping[str, Kind | Array] | Cases, told: Any
) -> Mapping[str, Kind | Array]:
    """Return the fields of a group, of which JSON has the right members."""
    name, more = f"meta.{group}", list[str]()
    if isinstance(fields, Cases):
        kind = told.get("kind") if isinstance(told, dict) else None
        fields = fields.fields[one_of(*fields.fields).read(kind, f"{name}.kind", {})]
        more = ["kind"]
    check_members(told, name, (*more, *(n for n, f in fields.items() if isinstance(f, Kind))))
    return fields


def _members(
    file: IO[bytes],
    infos: dict[str, zipfile.ZipInfo],
    arrays: Mapping[str, Array],
    lengths: _Lengths,
) -> dict[str, _Member]:
    """Return what an archive says of its arrays, which fit each other; none of them is read."""
    found: dict[str, _Member] = {}
    for name, field in arrays.items():
        parts = {name: field.kinds}
        is_sparse = field.sparse and f"{name}/starts.npy" in infos
        if is_sparse:
            parts = {f"{name}/{part}": kinds for part, kinds in _SPARSE.items()}
        elif f"{name}.npy" not in infos and field.optional:
            continue
        for part, kinds in parts.items():
            if f"{part}.npy" not in infos:
                raise UnsoundError(f"{part} is missing")
            found[part] = _member(file, infos.pop(f"{part}.npy"), part, kinds)
        if is_sparse:
            rows = (field.shape or ("",))[0]
            for part, length in (("starts", f"{rows}+1"), ("indices", name), ("values", name)):
                lengths.bind(f"{name}/{part}", found[f"{name}/{part}"].shape, (length,))
        else:
            lengths.bind(name, found[name].shape, field.shape)
    if infos:
        raise UnsoundError(f"{shown(next(iter(infos)))} is an unknown member")
    return found


def listed(file: IO[bytes]) -> dict[str, zipfile.ZipInfo]:
    """Return the members of a zip archive, each once and packed in a way that is known."""
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
    except Exception as error:  # zipfile has many ways to say that an archive is broken
        raise UnsoundError(f"it is no whole zip archive ({error})") from error
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = shown(info.filename)
        if info.filename in found:
            raise UnsoundError(f"{name} is there twice")
        if info.flag_bits & 0x1:
            raise UnsoundError(f"{name} is encrypted")
        # zipfile unpacks these two no further than it is asked to.
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise UnsoundError(f"{name} must be stored or deflated, got {info.compress_type}")
        found[info.filename] = info
    return found


def content(file: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    """Return a member of a zip archive, whose declared size was found to be bearable before."""
    try:
        with zipfile.ZipFile(file) as archive, archive.open(info) as part:
            held = part.read(info.file_size)
            part.read(1)  # so that the checksum of an empty member is looked at
    except Exception as error:  # zipfile and zlib have many ways to say that a member is broken
        raise UnsoundError(f"{shown(info.filename)} is damaged ({error})") from error
    if len(held) != info.file_size:
        raise UnsoundError(f"{shown(info.filename)} is cut short")
    return held


# --- writing whole files ---------------------------------------------------------------------


def atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file beside its place and move it there, so that no half of it is ever seen.

    What a process that was killed has left of the same file is removed.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "A folder is not a file to write to", str(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "There is no such folder", str(path.parent))
    _remove_left(path)
    beside = path.with_name(f".{path.name}.{_machine()}{os.getpid():08x}{uuid.uuid4().hex[:16]}")
    try:
        with beside.open("xb") as file:
            write(file)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


# What comes behind the name of a file that is being written: machine, process, and a number.
_BEING_WRITTEN = re.compile(r"([0-9a-f]{8})([0-9a-f]{8})[0-9a-f]{16}")


def _machine() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _remove_left(path: Path) -> None:
    """Remove what processes of this machine that are no more were writing for the same path."""
    start = f".{path.name}."
    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(start)]
    for name in names:
        found = _BEING_WRITTEN.fullmatch(name.removeprefix(start))
        if found is None or found[1] != _machine() or _lives(int(found[2], 16)):
            continue
        with contextlib.suppress(OSError):  # somebody else's, or gone already
            path.with_name(name).unlink()


def _lives(process: int) -> bool:
    if os.name == "nt":  # where asking would end it, and what it has open cannot be removed
        return process == os.getpid()
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    return True
