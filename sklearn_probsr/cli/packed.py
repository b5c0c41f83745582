"""Packed tables: Parquet and Feather, read no further than a bearable number of bytes.

A few hundred bytes can unpack to gigabytes, in two steps: pages and buffers are compressed, and
cells refer to values that are written once. What pages and buffers unpack to is said in front of
each, where the libraries that unpack them believe it: it is added up before anything is read. What
cells refer to is added up when the values are known, before they are written out.
"""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.results.codec import UnsoundError

# What a packed file may become: so many bytes, or so many times its size.
_BEARABLE, _TIMES = 1 << 28, 50
# What a cell takes in memory: a number, and an object of Python's.
_NUMBER, _OBJECT = 8, 64
# Fields of the header of a page of Parquet.
_SIZE, _PACKED = 2, 3


def bearable(*files: Path) -> int:
    """Return how many bytes files may take unpacked; more is made to fill the memory."""
    return max(_BEARABLE, _TIMES * sum(path.stat().st_size for path in files))


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Say that a file is not of a kind, and why, however reading it ends."""
    try:
        yield
    except (InvalidInputError, ImportError):
        raise
    except Exception as error:  # pyarrow has many errors of its own, some of them MemoryErrors
        if isinstance(error, OSError) and error.errno is not None:  # of the system
            raise
        text = " ".join(str(error).split()).rstrip(".")
        raise InvalidInputError(f"{path} cannot be read as {kind}: {text}.") from error


def _check_bytes(files: list[Path], size: int) -> None:
    most = bearable(*files)
    if size > most:
        raise InvalidInputError(
            f"{files[0]} takes more than {most:,} bytes unpacked, too much for its size. If you "
            "trust it, save it as CSV."
        )


def _check_cells(path: Path, rows: int, types: list[Any]) -> None:
    if rows * sum(map(_width, types)) > bearable(path):
        columns = f"{len(types):,} column{'s' if len(types) > 1 else ''}"
        raise InvalidInputError(
            f"{path} has {rows:,} rows and {columns}, too many for its size. If you trust it, save "
            "it as CSV."
        )


def _width(kind: Any) -> int:
    """Return how many bytes a cell of a type takes at least, beside the text that it may be."""
    from pyarrow import types

    if types.is_fixed_size_binary(kind):
        return _OBJECT + int(kind.byte_width)
    numbers = types.is_primitive(kind) and not (types.is_date(kind) or types.is_time(kind))
    text = types.is_string(kind) or types.is_large_string(kind)
    return _NUMBER if numbers or types.is_dictionary(kind) or text else _OBJECT


def framed(table: Any, exact: Collection[str] = ()) -> Any:
    """Return an Arrow table as a frame; whole numbers of ``exact`` columns are so beside gaps."""
    import pandas as pd
    from pyarrow import types

    frame = table.to_pandas().reset_index(drop=True)
    for k, field in enumerate(table.schema):
        if field.name in exact and types.is_integer(field.type) and table.column(k).null_count:
            frame[field.name] = pd.Series(table.column(k).to_pylist(), dtype=object)
    frame.columns = [str(name) for name in frame.columns]
    return frame


def written_out(table: Any, files: list[Path], schema: Any) -> Any:
    """Return a table or a batch as a schema has it, its texts written out, if that is bearable."""
    import pyarrow as pa

    size = 0
    for column in table.columns:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        size += sum(_meant(chunk) + chunk.nbytes for chunk in chunks)
    _check_bytes(files, size)
    return table.cast(schema)


def _meant(cells: Any) -> int:
    """Return how many bytes of texts cells refer to, however deep inside."""
    import pyarrow as pa
    from pyarrow import compute, types

    kind, parts, size = cells.type, [], 0
    if isinstance(cells, pa.ExtensionArray):
        parts = [cells.storage]
    elif types.is_string_view(kind) or types.is_binary_view(kind):
        views = np.frombuffer(cells.buffers()[1], np.int32).reshape(-1, 4)
        size = int(views[cells.offset : cells.offset + len(cells), 0].sum(dtype=np.int64))
    elif types.is_dictionary(kind):
        parts = [cells.dictionary]
        if not types.is_nested(kind.value_type) and not types.is_primitive(kind.value_type):
            lengths = compute.binary_length(cells.dictionary).cast(pa.int64())
            parts, size = [], compute.sum(lengths.take(cells.indices)).as_py() or 0
    elif types.is_map(kind):
        parts = [cells.keys, cells.items]
    elif types.is_struct(kind):
        parts = cells.flatten()
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        parts = [cells.flatten()]
    elif types.is_nested(kind) or types.is_run_end_encoded(kind):
        raise UnsoundError(f"a column of {kind} may hold the same values many times")
    return size + sum(map(_meant, parts))


# --- Parquet ---------------------------------------------------------------------------------


def check_parquet(path: Path, batch: int | None = None) -> None:
    """Refuse a Parquet file that unpacks to too much: all of it, or what a batch of rows reads."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file, path.open("rb") as content:
        about, size, whole = file.metadata, 0, batch is None
        if whole:
            _check_cells(path, about.num_rows, file.schema_arrow.types)
        with mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as inside:
            for group in map(about.row_group, range(about.num_row_groups)):
                for column in range(group.num_columns):
                    chunk = group.column(column)
                    if not chunk.num_values:  # nothing is read then
                        continue
                    pages = list(_pages(inside, chunk))
                    sizes = [page[_SIZE] for page in pages]
                    size += sum(sizes) if whole else max(sizes, default=0)
                    size += _values(pages, file.schema.column(column), batch)
                    _check_bytes([path], size)
                size = size if whole else 0


def _values(pages: list[dict[int, Any]], column: Any, rows: int | None) -> int:
    """Return what values may take that pages refer to: in lists there may be any number of them."""
    n: int = sum((page.get(5) or page.get(8) or {}).get(1, 0) for page in pages)
    in_lists = column.max_repetition_level > 0
    if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return int(column.length) * (n if in_lists or rows is None else min(n, rows))
    return n * _NUMBER if in_lists else 0  # texts stay references until they are written out


def _pages(inside: mmap.mmap, chunk: Any) -> Iterator[dict[int, Any]]:
    """Yield the headers of the pages of a column, by the numbers of their fields."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        at = min(at, chunk.dictionary_page_offset)
    end = min(at + chunk.total_compressed_size, len(inside))
    while at < end:
        header = _Header(inside, at, end)
        found = header.fields()
        if min(found.get(_SIZE, -1), found.get(_PACKED, -1)) < 0:
            raise UnsoundError("the header of a page says no size")
        yield found
        at = header.at + found[_PACKED]


class _Header:
    """What Thrift's compact protocol says at the beginning of a page."""

    def __init__(self, content: mmap.mmap, at: int, end: int) -> None:
        self.content, self.at, self.end = content, at, end

    def fields(self, depth: int = 8) -> dict[int, Any]:
        """Return the fields of a structure: whole numbers, structures, and nothing else."""
        found: dict[int, Any] = {}
        number = 0
        while kind := self._byte():
            number = number + (kind >> 4) if kind >> 4 else self._whole()
            found[number] = self._value(kind & 15, depth)
        return found

    def _byte(self) -> int:
        if self.at >= self.end:
            raise UnsoundError("the header of a page is cut short")
        self.at += 1
        return self.content[self.at - 1]

    def _length(self) -> int:
        found = shift = 0
        while (byte := self._byte()) >= 128 and shift < 63:
            found |= (byte & 127) << shift
            shift += 7
        return found | (byte & 127) << shift

    def _whole(self) -> int:
        found = self._length()
        return found >> 1 ^ -(found & 1)

    def _value(self, kind: int, depth: int) -> Any:
        if not depth:
            raise UnsoundError("the header of a page is nested too deeply")
        if kind in {1, 2}:  # true and false
            return kind == 1
        if kind in {4, 5, 6}:
            return self._whole()
        if kind == 12:
            return self.fields(depth - 1)
        if kind in {3, 7, 8}:  # a byte, a number with a point, a text
            width = {3: 1, 7: 8}.get(kind) or self._length()
            self.at += width
            return None
        if kind in {9, 10}:
            head = self._byte()
            for _ in range(head >> 4 if head >> 4 < 15 else self._length()):
                self._value(head & 15, depth - 1)
            return None
        raise UnsoundError(f"the header of a page holds a value of an unknown kind {kind}")


def parquet_dataset(files: list[Path], **root: str) -> tuple[Any, Any]:
    """Return Parquet files whose texts stay references until their size is known, and the schema.

    ``root`` may say where the names of folders begin that tell the values of columns.
    """
    import pyarrow as pa
    from pyarrow import dataset
    from pyarrow.parquet import ParquetFile

    names = [str(path) for path in files]
    texts: dict[str, None] = {}  # also inside of structures and lists
    for path in files:
        with ParquetFile(path) as file:
            for column in map(file.schema.column, range(len(file.schema))):
                if column.physical_type == "BYTE_ARRAY":
                    texts[column.path] = None
    schema = dataset.dataset(names, format="parquet", partitioning="hive", **root).schema
    how = dataset.ParquetFileFormat(dictionary_columns=[*texts])
    # No reference becomes a view, which would be one as well.
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    schema = pa.schema(
        [field.with_type(plain.get(field.type, field.type)) for field in schema], schema.metadata
    )
    return dataset.dataset(names, format=how, partitioning="hive", **root), schema


# --- Feather ---------------------------------------------------------------------------------


def read_feather(path: Path) -> Any:
    """Return an Arrow table from a Feather file, if what it unpacks to is bearable."""
    import pyarrow as pa

    with path.open("rb") as file:
        if file.read(4) == b"FEA1":
            raise UnsoundError("it is of version 1. Write it again, as version 2 or as Parquet")
    with pa.OSFile(str(path)) as content, pa.ipc.open_file(content) as reader:
        rows = size = 0
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
            for n, taken in _batches(held):
                rows, size = rows + n, size + taken
        _check_cells(path, rows, reader.schema.types)
        _check_bytes([path], size)
        table = reader.read_all()
    table.validate(full=True)
    return written_out(table, [path], table.schema)


def _batches(file: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Yield rows and bytes of the batches that the end of a file names; some many times."""
    length = _number(file, len(file) - 10, 4)
    footer = _Record.at_root(file, len(file) - 10 - length)
    for field, is_rows in ((2, False), (3, True)):
        for block in footer.structs(field, 24):
            start = _number(file, block, 8)
            body = start + _number(file, block + 8, 4)
            start += 4 if _number(file, start, 4) == -1 else 0  # of releases since 0.15
            message = _Record.at_root(file, start + 4)
            batch = message.record(2)
            if batch is not None and not is_rows:
                batch = batch.record(1)
            if batch is None:
                raise UnsoundError("a batch is not where the file says")
            rows = batch.number(0)
            size = sum(_NUMBER * _number(file, node, 8) for node in batch.structs(1, 16))
            for buffer in batch.structs(2, 16):
                at, length = _number(file, buffer, 8), _number(file, buffer + 8, 8)
                if length and batch.record(3) is not None:
                    told = _number(file, body + at, 8)
                    length = length if told == -1 else told
                if length < 0:
                    raise UnsoundError("a buffer has no size")
                size += length
            yield rows if is_rows else 0, size


class _Record:
    """A table of FlatBuffers, which is how Arrow says what is in a file."""

    def __init__(self, file: mmap.mmap, at: int) -> None:
        self.file, self.at = file, at
        self.fields = at - _number(file, at, 4)

    @classmethod
    def at_root(cls, file: mmap.mmap, at: int) -> _Record:
        return cls(file, at + _number(file, at, 4))

    def _place(self, field: int) -> int:
        """Return where a field is; 0: it is not there."""
        entry = 4 + 2 * field
        if entry >= _number(self.file, self.fields, 2):
            return 0
        offset = _number(self.file, self.fields + entry, 2)
        return self.at + offset if offset else 0

    def number(self, field: int) -> int:
        place = self._place(field)
        return _number(self.file, place, 8) if place else 0

    def record(self, field: int) -> _Record | None:
        place = self._place(field)
        return _Record.at_root(self.file, place) if place else None

    def structs(self, field: int, width: int) -> range:
        """Return where the structures of a list are."""
        place = self._place(field)
        if not place:
            return range(0)
        place += _number(self.file, place, 4)
        n = _number(self.file, place, 4)
        if not 0 <= n * width <= len(self.file) - place:
            raise UnsoundError("a list is longer than the file")
        return range(place + 4, place + 4 + n * width, width)


def _number(file: mmap.mmap, at: int, width: int) -> int:
    """Return a number with a sign that a file has at a place."""
    if not 0 <= at <= len(file) - width:
        raise UnsoundError("it refers to what is not in it")
    return int.from_bytes(file[at : at + width], "little", signed=True)
