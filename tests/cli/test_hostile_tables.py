"""Tables of a few bytes that unpack to gigabytes, or lie about it: refused before they are read."""

import mmap
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sklearn_probsr.cli.packed import _batches, check_parquet
from sklearn_probsr.cli.tables import open_table
from tests.cli.conftest import NUMBERS, load_table, refused, written

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

MUCH = (
    "takes more than 268,435,456 bytes unpacked, too much for its size. If you trust it, save it "
    "as CSV."
)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """Let every test work in a folder of its own, so that messages hold short names."""
    monkeypatch.chdir(tmp_path)


def peak(path: Path, how: str = "load_table(path)") -> int:
    """Return how many bytes reading a file takes at most beyond those of reading a small one."""
    NUMBERS.to_parquet("small.parquet")
    NUMBERS.to_feather("small.feather")
    code = f"""
import resource
from pathlib import Path
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.cli.tables import open_table
load_table = lambda path: open_table(path).whole()
load_table(Path("small.parquet")), load_table(Path("small.feather"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
path = Path({str(path)!r})
try:
    {how}
    print("read")
except InvalidInputError:
    print("refused")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    how_it_ended, kibibytes = done.stdout.split()
    assert how_it_ended == "refused"
    return int(kibibytes) * (1 if sys.platform == "darwin" else 1024)


def long_texts() -> pa.Table:
    """Return a column of one long text, which a file of any kind has once."""
    text = pa.array(["x" * 1_000_000])
    return pa.table({"a": pa.DictionaryArray.from_arrays(np.zeros(500, np.int32), text)})


def test_texts_that_are_written_once():
    """Five hundred cells of a text of a million letters, which Parquet has once, are refused."""
    table = long_texts().cast(pa.schema({"a": pa.string()}))
    parquet.write_table(table, "t.parquet", compression="zstd", dictionary_pagesize_limit=2**21)
    path = Path("t.parquet")
    assert path.stat().st_size < 2_000
    assert refused(load_table, path) == f"t.parquet {MUCH}"
    assert peak(path) < 100_000_000
    assert refused(lambda: list(open_table(path).read(10_000))) == f"t.parquet {MUCH}"
    assert peak(path, "list(open_table(path).read(10_000))") < 100_000_000


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.large_binary()])
@pytest.mark.parametrize("where", ["column", "structure", "list", "map"])
def test_values_that_are_written_once_wherever_they_are(kind, where):
    """So are bytes, and texts and bytes inside of structures, lists and maps."""
    column = long_texts()["a"].combine_chunks().cast(pa.string()).cast(kind)
    ends = pa.array(np.arange(len(column) + 1, dtype=np.int32))
    keys = pa.array(["k"] * len(column))
    column = {
        "column": lambda: column,
        "structure": lambda: pa.StructArray.from_arrays([column], ["z"]),
        "list": lambda: pa.ListArray.from_arrays(ends, column),
        "map": lambda: pa.MapArray.from_arrays(ends, keys, column),
    }[where]()
    table, path = pa.table({"a": column}), Path("t.parquet")
    options = {"compression": "zstd", "dictionary_pagesize_limit": 2**21}
    with parquet.ParquetWriter(path, table.schema, **options) as writer:
        for _ in range(4):
            writer.write_table(table)
    assert path.stat().st_size < 5_000
    for how in ("load_table(path)", "list(open_table(path).read(10_000))"):
        assert peak(path, how) < 200_000_000
    assert refused(load_table, path) == f"t.parquet {MUCH}"


def test_lists_of_words_are_read():
    """Many lists of words from a large vocabulary are bearable, whole and in batches."""
    words = pa.array([f"word number {i}" for i in range(10_000)])
    ends = pa.array(np.arange(0, 200_001, 10, dtype=np.int32))
    some = words.take(pa.array(np.random.default_rng(0).integers(0, 10_000, 200_000)))
    table = pa.table({"a": pa.ListArray.from_arrays(ends, some), "b": some[:20_000]})
    parquet.write_table(table, "t.parquet")
    path, expected = Path("t.parquet"), table["a"].to_pylist()
    assert [[*row] for row in load_table(path)["a"]] == expected
    batches = list(open_table(path).read(10_000))
    assert [[*row] for batch in batches for row in batch["a"]] == expected


def test_lists_of_any_length():
    """So are lists of zeros without number in a single row."""
    table = pa.table({"a": pa.array([np.zeros(40_000_000, np.int8)])})
    parquet.write_table(table, "t.parquet", compression="zstd")
    assert Path("t.parquet").stat().st_size < 50_000
    assert refused(load_table, Path("t.parquet")) == f"t.parquet {MUCH}"
    assert peak(Path("t.parquet")) < 100_000_000


def test_wide_cells():
    """So are cells that are wide by their type, and objects, which take more than numbers."""
    wide = pa.array([bytes(100_000)] * 4_000, pa.binary(100_000))
    days = pa.array(np.zeros(5_000_000, np.int32)).cast(pa.date32())
    for column in (wide, days):
        parquet.write_table(pa.table({"a": column}), "t.parquet", compression="zstd")
        assert "too m" in refused(load_table, Path("t.parquet"))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_say_what_they_unpack_to(version, monkeypatch):
    """What the end of a file says of a column's size may be a lie: the pages are added up."""
    plain = {"use_dictionary": False, "data_page_version": version, "compression": "zstd"}
    parquet.write_table(pa.table({"a": np.zeros(200_000)}), "t.parquet", **plain)
    size = parquet.read_metadata("t.parquet").row_group(0).column(0).total_uncompressed_size
    content, true, lie = Path("t.parquet").read_bytes(), thrift(size), thrift(1 << 20)
    assert len(true) == len(lie)
    path = written("t.parquet", content.replace(true, lie))
    about = parquet.read_metadata(path)
    assert about.row_group(0).column(0).total_uncompressed_size == 1 << 20
    check_parquet(path)
    monkeypatch.setattr("sklearn_probsr.cli.packed._BEARABLE", 1_600_001)
    assert refused(check_parquet, path) == f"t.parquet {MUCH}".replace("268,435,456", "1,600,001")


def thrift(n: int) -> bytes:
    """Return a whole number as Thrift writes it."""
    found, n = [], n << 1
    while n > 127:
        found.append(n & 127 | 128)
        n >>= 7
    return bytes([*found, n])


def packed(path: str, table: pa.Table, change: Callable[[bytearray], None]) -> Path:
    """Write Feather with lz4, some of its bytes changed."""
    feather.write_feather(table, path, compression="lz4")
    content = bytearray(Path(path).read_bytes())
    change(content)
    return written(path, bytes(content))


def test_buffers_that_unpack_to_much():
    """Feather of half a megabyte that unpacks to gigabytes is refused, and what it declares."""
    table = pa.table({"a": np.zeros(60_000_000)})
    feather.write_feather(table, "t.feather", compression="lz4", chunksize=2**24)
    assert Path("t.feather").stat().st_size < 2_500_000
    assert refused(load_table, Path("t.feather")) == (
        "t.feather has 60,000,000 rows and 1 column, too many for its size. If you trust it, save "
        "it as CSV."
    )
    assert peak(Path("t.feather")) < 100_000_000
    numbers = pa.table({"a": np.zeros(1000)})
    declared = struct.pack("<q", 8_000)

    def lie(content: bytearray) -> None:
        at = content.index(declared)
        content[at : at + 8] = struct.pack("<q", 10**17)

    assert refused(load_table, packed("l.feather", numbers, lie)) == f"l.feather {MUCH}"


def test_a_batch_that_is_named_many_times():
    """The end of a file may name one batch as often as it likes: it counts so often."""
    with pa.OSFile("t.feather", "wb") as file:
        table = pa.table({"a": np.arange(1_000_000.0)})
        with pa.ipc.new_file(file, table.schema) as writer:
            for _ in range(3):
                writer.write_batch(table.to_batches()[0])
    content = Path("t.feather").read_bytes()
    blocks = _blocks(content)
    first, second, third = (content[at : at + 24] for at in blocks)
    changed = bytearray(content)
    for at in blocks:
        changed[at : at + 24] = first
    with written("same.feather", bytes(changed)).open("rb") as file:
        held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        found = list(_batches(held))
        held.close()
    assert len({first, second, third}) == 3
    assert found == [(1_000_000, found[0][1])] * 3


def _blocks(content: bytes) -> list[int]:
    """Return where the end of a file names its three batches, all equally long."""
    with pa.ipc.open_file(pa.BufferReader(content)) as reader:
        assert reader.num_record_batches == 3
    end = len(content) - 10
    length = struct.unpack("<i", content[end : end + 4])[0]
    for at in range(end - length, end - 72):
        starts = [struct.unpack_from("<q", content, at + 24 * k)[0] for k in range(3)]
        lengths = {content[at + 24 * k + 8 : at + 24 * k + 24] for k in range(3)}
        gaps = {starts[1] - starts[0], starts[2] - starts[1]}
        if len(lengths) == 1 and len(gaps) == 1 and 8_000_000 < min(gaps) < 9_000_000:
            return [at, at + 24, at + 48]
    raise AssertionError("no blocks")


def test_columns_without_cells():
    """Rows of nothing take no bytes in a file, and their objects do in memory."""
    feather.write_feather(pa.table({"a": pa.nulls(100_000_000)}), "t.feather")
    assert Path("t.feather").stat().st_size < 200_000
    assert refused(load_table, Path("t.feather")).startswith(
        "t.feather has 100,000,000 rows and 1 column, too many for its size."
    )


def test_texts_of_feather():
    """Views of one long text are added up; ends of texts that run backwards are refused."""
    view = struct.pack("<i4sii", 100_000, b"xxxx", 0, 0) * 5_000
    held = [None, pa.py_buffer(view), pa.py_buffer(b"x" * 100_000)]
    many = pa.Array.from_buffers(pa.string_view(), 5_000, held)
    feather.write_feather(pa.table({"a": many}), "t.feather", compression="uncompressed")
    assert Path("t.feather").stat().st_size < 200_000
    assert refused(load_table, Path("t.feather")) == f"t.feather {MUCH}"
    fine = pa.table({"a": pa.array(["short", "x" * 100], pa.string_view())})
    feather.write_feather(fine, "fine.feather")
    assert load_table(Path("fine.feather"))["a"].tolist() == ["short", "x" * 100]
    texts = pa.table({"a": ["abcdefgh"] * 100})
    feather.write_feather(texts, "b.feather", compression="uncompressed")
    ends = struct.pack("<2i", 8, 16)
    content = Path("b.feather").read_bytes().replace(ends, struct.pack("<2i", 800, 16))
    assert refused(load_table, written("b.feather", content)).startswith(
        "b.feather cannot be read as Feather: "
    )


def test_feather_of_long_ago():
    """Version 1, which nothing writes any more, is told."""
    assert refused(load_table, written("a.feather", b"FEA1" + bytes(100) + b"FEA1")) == (
        "a.feather cannot be read as Feather: it is of version 1. Write it again, as version 2 or "
        "as Parquet."
    )


def test_sound_tables_are_read():
    """All compressions, pages of either version, lists, categories and texts are read."""
    frame = pd.DataFrame(
        {
            "number": np.arange(3000.0),
            "text": ["ab", None, "ç"] * 1000,
            "kind": pd.Categorical(["x", "y", "x"] * 1000),
            "list": [[1, 2], [], [3]] * 1000,
            "words": [["a"], ["b", "c"], []] * 1000,
            "day": pd.to_datetime("2020-01-01"),
        }
    )
    for compression in ("none", "snappy", "gzip", "brotli", "zstd", "lz4"):
        for version in ("1.0", "2.0"):
            frame.to_parquet("t.parquet", compression=compression, data_page_version=version)
            expected = pd.read_parquet("t.parquet")
            pd.testing.assert_frame_equal(load_table(Path("t.parquet")), expected)
            (batch,) = open_table(Path("t.parquet")).read(10_000)
            pd.testing.assert_frame_equal(batch, expected)
    for compression in ("uncompressed", "lz4", "zstd"):
        frame.to_feather("t.feather", compression=compression)
        pd.testing.assert_frame_equal(load_table(Path("t.feather")), pd.read_feather("t.feather"))


def test_large_tables_are_read_in_batches_still():
    """A Parquet file that is too large for memory is not refused where it is read in batches."""
    table = pa.table({"a": np.zeros(40_000_000, np.int8)})
    parquet.write_table(table, "t.parquet", compression="zstd")
    source = open_table(Path("t.parquet"))
    assert source.rows == 40_000_000
    assert len(next(source.read(10_000))) == 10_000


# --- wide tables -----------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["", '"a\nb",', "\n\n"], ids=["plain", "quoted", "blank"])
def test_many_columns_are_refused(first):
    """A million columns are refused before they are named, wherever the line of names ends."""
    names = ",".join(map(str, range(1_000_000)))
    written("wide.csv", f"{first}{names}\n1\n")
    start = time.process_time()
    assert refused(load_table, Path("wide.csv")) == (
        "wide.csv has more than 200,000 columns, and no more are read. Of texts, make one column, "
        "which a vectorizer in the model takes apart."
    )
    assert time.process_time() - start < 1


def test_columns_cost_what_they_are():
    """Eight times as many columns take about eight times as long, not 64 times."""
    spent = []
    for n in (1_000, 8_000):
        written("wide.csv", ",".join(f"c{i}" for i in range(n)) + "\n" + "1," * (n - 1) + "1\n")
        load_table(Path("wide.csv"))
        start = time.process_time()
        assert load_table(Path("wide.csv")).shape == (1, n)
        spent.append(time.process_time() - start)
    assert spent[1] < 24 * spent[0]


def test_lines_may_end_in_a_return():
    """A file of one long line for others, as of old computers, has the columns of its first."""
    written("old.csv", "a,b\r" + "1,2\r" * 250_000)
    assert load_table(Path("old.csv")).shape == (250_000, 2)


def test_folders_that_tell_values():
    """The name of a folder is a column, in a table as in batches."""
    Path("year=2020").mkdir()
    NUMBERS.to_parquet("year=2020/t.parquet")
    path = Path("year=2020/t.parquet")
    (batch,) = open_table(path).read(10_000)
    assert [*batch] == [*load_table(path)] == ["a", "b", "c", "year"]
