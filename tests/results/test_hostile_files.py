"""Files that somebody has broken or made up: an error that names the member, or a correct load."""

import io
import json
import re
import struct
import tempfile
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Matching,
    Product,
    ReasonExplanation,
    SufficientReasonExplainer,
    Unit,
)
from sklearn_probsr.exceptions import InvalidInputError
from tests.explained import same_reasons

SECONDS, BYTES = 1.0, 200_000_000
UNITS = [
    Unit.one_hot("job", [0, 1], dropped="none", labels=["job: clerk", "job: nurse"]),
    Unit.real("age", 2),
    Unit.binary("smoker", 3, labels=["non-smoker", "smoker"]),
]
PEOPLE = np.array([[1, 0, 3.5, 0], [0, 1, 2.0, 1], [0, 0, 1.0, 1], [0, 1, 4.0, 0]])
# What is written in the place of every value.
HOSTILE = (
    "null", "true", "-1", "7", "1e400", "NaN", "-Infinity", "9" * 400, '"1e30000000"', '"1/0"',
    '""', "[]", "{}", "[[[]]]", '{"a": 1, "a": 2}', '"\\ud800"', "9" * 5000, "[" * 100_000,
    "[" * 900 + "]" * 900, "[" + "0," * 50_000 + "0]",
)  # fmt: skip
MARK = "<here>"
WRONG = "is not a file that ReasonExplanation.save wrote with this version"

Members = dict[str, bytes]


def saved(explanation: ReasonExplanation) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "reasons")
        explanation.save(path)
        return path.read_bytes()


@cache
def originals() -> dict[str, tuple[ReasonExplanation, bytes]]:
    """Return explanations of several kinds, and the files that they are saved to."""
    rows = np.array([[1, 1, 0], [0, 1, 1]])
    binary = LinearModel([3.0, 2.0, -1.0], 2.5, strict=True, feature_names=["é", "b", "c"])
    with_units = LinearModel([4.0, -4.0, 0.5, -2.0], 1.0, units=UNITS, classes=("no", "yes"))
    several = ArgmaxModel([[2, 0, 1], [0, 2, 0], [1, 1, 0]], [0, 0, 1], classes=["a", "b", "c"])
    many = np.random.default_rng(0).integers(0, 2, (80, 3))
    matching = Matching(many, min_rows=2)
    found = {
        "units": SufficientReasonExplainer(with_units, PEOPLE, include=["smoker"])(PEOPLE),
        "product": SufficientReasonExplainer(binary, Product(["1/3", 0.5, 0.7]), delta=0.7)(rows),
        "several": SufficientReasonExplainer(several, Background(many), delta=0.7)(rows),
        "matching": SufficientReasonExplainer(binary, matching, delta=0.7)(rows)[0],
    }
    return {name: (explanation, saved(explanation)) for name, explanation in found.items()}


# --- how to break a file ---------------------------------------------------------------------


def members_of(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: Members, more: Members | None = None) -> bytes:
    """Return an archive; ``more`` may hold names that are there already."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in [*members.items(), *(more or {}).items()]:
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def array_of(content: bytes) -> Any:
    return np.load(io.BytesIO(content), allow_pickle=False)


def header(descr: str, shape: str, fortran: bool = False) -> bytes:
    """Return how an array begins that is said to be of a type and shape."""
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    text += b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def forged(entries: list[tuple[str, bytes, int, int]]) -> bytes:
    """Return an archive of deflated streams that declares any sizes and checksums."""
    body, index = b"", b""
    for name, stream, size, checksum in entries:
        sizes = struct.pack("<III", checksum, len(stream), size)
        common = struct.pack("<HHHHH", 20, 0, 8, 0, 33) + sizes
        common += struct.pack("<HH", len(name), 0)
        index += b"PK\1\2" + struct.pack("<H", 20) + common
        index += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\3\4" + common + name.encode() + stream
    end = struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(index), len(body), 0)
    return body + index + b"PK\5\6" + end


def deflated(*parts: bytes) -> bytes:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    return b"".join([*(squeeze.compress(part) for part in parts), squeeze.flush()])


@cache
def bomb() -> bytes:
    """Return 320 kB that unpack to the header of an array, and 320 MB of zeros."""
    return deflated(header("'<f8'", "(40000000,)"), *[bytes(10**6)] * 320)


def flips(content: bytes, rng: np.random.Generator) -> bytes:
    broken = bytearray(content)
    for at in rng.integers(0, len(broken), rng.integers(1, 5)):
        broken[at] ^= 1 << int(rng.integers(8))
    return bytes(broken)


def cuts(content: bytes, rng: np.random.Generator) -> bytes:
    a, b = sorted(int(v) for v in rng.integers(0, len(content), 2))
    return (content[:a], content[a:], content[:a] + content[b:], content[:b] + content[a:])[
        int(rng.integers(4))
    ]


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where values are in JSON: of a list the first and the last one."""
    yield at
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], (*at, key))
    elif isinstance(value, list):
        for i in {0, len(value) - 1} if value else ():
            yield from paths(value[i], (*at, i))


def replaced(source: str, at: tuple[Any, ...], text: str) -> str:
    """Return JSON with other text in the place of a value."""
    held = {"": json.loads(source)}
    place: Any = held
    for key in ("", *at)[:-1]:
        place = place[key]
    place[("", *at)[-1]] = MARK
    return json.dumps(held[""]).replace(json.dumps(MARK), text)


def json_mutations(source: str, rng: np.random.Generator) -> Iterator[str]:
    """Yield every value replaced by some of what is hostile; a member more, one less, one twice."""
    held = json.loads(source)
    for at in paths(held):
        for k in rng.permutation(len(HOSTILE))[:5]:
            yield replaced(source, at, HOSTILE[k])
        place = held
        for key in at:
            place = place[key]
        if isinstance(place, dict):
            yield replaced(source, at, json.dumps({**place, "unknown": 1}))
            for key in place:
                yield replaced(source, at, json.dumps({k: place[k] for k in place if k != key}))
                twice = f"{json.dumps(key)}: {json.dumps(place[key])}"
                yield replaced(source, at, f"{{{twice}, {json.dumps(place)[1:]}")


def array_mutations(members: Members, rng: np.random.Generator) -> Iterator[bytes]:
    """Yield archives in which one array is of another type, shape or value."""
    for name, content in members.items():
        array = array_of(content)
        shape = str(array.shape)
        for forgery in (
            header("'<f8'", "(1000000000000, 1000000)"),
            header("'<f8'", f"({'9' * 60},)"),
            header("'|O'", shape),
            header("[('a', '<f8')]", shape),
            header("'" + "(" * 60 + "'", shape),
            header("'<f8'", "(" * 40),
            header("'<c16'", shape),
            header("'<M8'", shape),
            header("'<U1000000000'", shape),
            header("'<f8'", "(-1,)"),
            header(f"'{array.dtype.str}'", shape, fortran=True),
            header("'>f8'", shape),
            b"\x93NUMPY\x03\x00",
            b"",
        ):
            yield packed({**members, name: forgery + content[128:]})
        for value in (np.nan, np.inf, -1.0, 7.0, 2.0**62):
            if array.size and array.dtype.kind in "fi":
                with np.errstate(invalid="ignore"):
                    other = array.copy()
                    other.flat[rng.integers(array.size)] = np.array(value).astype(array.dtype)
                yield packed({**members, name: npy(other)})
        for other in (array[:0], array[..., None], array[..., :1], array.astype(np.float32)
                      if array.dtype.kind == "f" else array.astype(str)):  # fmt: skip
            yield packed({**members, name: npy(other)})
        if array.dtype.kind == "b":
            yield packed({**members, name: content[:-1] + b"\x07"})
        if array.dtype.kind == "U" and array.size:
            yield packed({**members, name: content[:-4] + b"\xff\xff\xff\xff"})
            yield packed({**members, name: npy(np.full_like(array, "proved"))})


def archive_mutations(members: Members, rng: np.random.Generator) -> Iterator[bytes]:
    """Yield archives whose members are missing, exchanged, there twice, or not as declared."""
    names = list(members)
    for name, content in members.items():
        yield packed({other: members[other] for other in names if other != name})
        other = names[int(rng.integers(len(names)))]
        yield packed({**members, name: members[other], other: content})
        with pytest.warns(UserWarning, match="Duplicate name"):
            yield packed(members, {name: content})
        checksum = zlib.crc32(content)
        rest = [(n, deflated(c), len(c), zlib.crc32(c)) for n, c in members.items() if n != name]
        for stream, size, crc in (
            (bomb(), 320_000_128, 0),
            (bomb(), len(content), checksum),
            (bomb(), 128, zlib.crc32(header("'<f8'", "(40000000,)"))),
            (deflated(content), 2**32 - 2, checksum),
            (deflated(content), 0, 0),
            (deflated(content)[:-2], len(content), checksum),
            (deflated(content), len(content), 1),
        ):
            yield forged([*rest, (name, stream, size, crc)])
    yield packed(members, {"more/code.npy": members["meta.npy"]})
    yield packed(members, {"readme.txt": b"hello"})
    yield packed(members, {"../../meta.npy": members["meta.npy"]})


# --- the limits ------------------------------------------------------------------------------


class Watch:
    """How many files were read, and what reading one of them took at worst."""

    def __init__(self) -> None:
        self.cases, self.seconds, self.bytes = 0, 0.0, 0

    def read(self, read: Callable[[], Any], start: str) -> Any:
        """Return what was read, or None if it was refused in the right words."""
        self.cases += 1
        tracemalloc.start()
        begin = time.process_time()
        found, said = None, ""
        try:
            found = read()
        except InvalidInputError as error:
            said = str(error)
        taken, peak = time.process_time() - begin, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        self.seconds, self.bytes = max(self.seconds, taken), max(self.bytes, peak)
        assert found is not None or said.startswith(start)
        assert len(said) < 800
        assert "\n" not in said
        assert taken < SECONDS
        assert peak < BYTES
        return found


def in_range(found: ReasonExplanation) -> bool:
    """Whether all that a reader is told can be."""
    told = found.reasons
    bounds = (told.lower >= 0) & (told.lower <= told.upper) & (told.upper <= 1)
    words = [str(reason) for reason in told]
    return bool(bounds.all() and 0 <= told.delta <= 1 and len(words) == len(told))


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_mutated_archives(tmp_path: Path):
    """A thousand and more: refused in words that name the file, or loaded as they should be."""
    rng, watch, path = np.random.default_rng(13), Watch(), tmp_path / "reasons.npz"

    def load(content: bytes) -> ReasonExplanation | None:
        path.write_bytes(content)
        return watch.read(lambda: ReasonExplanation.load(path), f"{path} {WRONG}: ")

    for name, (explanation, content) in originals().items():
        assert same_reasons(load(content), explanation)
        for _ in range(40):
            for mutate in (flips, cuts):
                again = load(mutate(content, rng))
                assert again is None or same_reasons(again, explanation)
        members = members_of(content)
        made: list[Iterator[bytes]] = []
        if name in ("units", "matching"):  # numbers and states; each member that there can be
            made.append(array_mutations(members, rng))
        if name == "matching":
            made.append(archive_mutations(members, rng))
        for broken in chain(*made):
            again = load(broken)
            assert again is None or in_range(again)
    content = originals()["units"][1]
    members = members_of(content)
    for source in json_mutations(array_of(members["meta.npy"]).tobytes().decode(), rng):
        meta = npy(np.frombuffer(source.encode(), dtype=np.uint8))
        again = load(packed({**members, "meta.npy": meta}))
        assert again is None or in_range(again)
    assert watch.cases >= 1_500


# --- what is said ----------------------------------------------------------------------------


def refused(message: str) -> Any:
    return pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$")


def with_meta(at: tuple[Any, ...], text: str) -> bytes:
    members = members_of(originals()["product"][1])
    source = replaced(array_of(members["meta.npy"]).tobytes().decode(), at, text)
    return packed({**members, "meta.npy": npy(np.frombuffer(source.encode(), dtype=np.uint8))})


def test_what_is_wrong_is_named(tmp_path: Path):
    """The member, what it must be, and what it is."""
    path, members = tmp_path / "reasons.npz", members_of(originals()["product"][1])
    features, indptr = (array_of(members[f"reasons/{n}.npy"]) for n in ("features", "indptr"))
    for content, why in (
        (b"", "it is no whole zip archive (File is not a zip file)"),
        (packed(members, {"x.py": b""}), "'x.py' is an unknown member"),
        (
            packed({name: members[name] for name in members if name != "more/data.npy"}),
            "more/data is missing",
        ),
        (
            packed({**members, "reasons/features.npy": header("'|O'", "(2, 3)")}),
            "reasons/features must hold 64-bit integers, got type 'object'",
        ),
        (
            packed({**members, "reasons/features.npy": npy(features[None])}),
            f"reasons/features must have 1 dimensions, got shape (1, {len(features)})",
        ),
        (
            packed({**members, "reasons/features.npy": npy(features + 2)}),
            "reasons/features must hold whole numbers from 0 to 2",
        ),
        (
            packed({**members, "reasons/features.npy": npy(features * 0)}),
            "reasons/features must name each feature of a reason once",
        ),
        (
            packed({**members, "reasons/indptr.npy": npy(indptr[:2])}),
            "reasons/indptr must have shape (3,), got (2,)",
        ),
        *(
            (
                packed({**members, "reasons/indptr.npy": npy(np.array(wrong))}),
                "reasons/indptr must rise from 0 to how many numbers reasons/features has",
            )
            for wrong in ([0, 2**63 - 1, len(features)], [1, 1, len(features)], [0, 0, 1])
        ),
        (
            packed({**members, "reasons/lower.npy": npy(np.array([0.5, np.nan]))}),
            "reasons/lower must hold numbers from 0 to 1, got nan in row 1",
        ),
        (
            packed({**members, "reasons/minimality.npy": npy(np.array([1, 0], np.uint8))}),
            "reasons/minimality must hold what can be proved, got '' in row 1",
        ),
        (
            packed({**members, "reasons/minimality.npy": npy(np.array([1, 77], np.uint8))}),
            "reasons/minimality must hold places of words, got 77",
        ),
        (
            with_meta(("reasons", "delta"), "7"),
            "meta.reasons.delta must be a number from 0 to 1, got 7",
        ),
        (
            with_meta(("reasons", "exact"), '[[0, "1e30000000"]]'),
            "meta.reasons.exact must be a fraction from 0 to 1, such as '1/3', got '1e30000000'",
        ),
        (
            with_meta(("law", "p", 1), '"3/2"'),
            "meta.law.p must be a fraction from 0 to 1, such as '1/3', got '3/2'",
        ),
        (
            with_meta(("model", "strict"), "1"),
            "meta.model.strict must be true or false, got 1",
        ),
        (
            with_meta(("more", "single"), "true"),
            "meta.more.single must be false, there are 2 rows",
        ),
        (
            with_meta(("more", "view"), '"every"'),
            "meta.more.view must be one of 'all', 'reason', 'guarantee', got 'every'",
        ),
        (
            packed({name: part for name, part in members.items() if name != "more/values.npy"}),
            "more/values is missing",
        ),
        (with_meta(("law",), '{"kind": "Product"}'), "meta.law lacks 'p'"),
        (with_meta(("code",), "1"), "meta has an unknown member 'code'"),
        (with_meta(("law",), "[" * 100_000), "meta is nested too deeply"),
        (
            with_meta(("format",), '"sklearn-probsr reasons 1"'),
            "meta must have the format 'sklearn-probsr reasons 9', got 'sklearn-probsr reasons 1'",
        ),
    ):  # fmt: skip
        path.write_bytes(content)
        with refused(f"{path} {WRONG}: {why}."):
            ReasonExplanation.load(path)


# --- sizes -----------------------------------------------------------------------------------


def with_background(n: int) -> bytes:
    """Return a small file whose background has many rows."""
    members = members_of(originals()["units"][1])
    members["law/rows.npy"] = npy(np.zeros((n, 4)))
    members["law/weights.npy"] = npy(np.ones(n, dtype=np.int64))
    return forged([(k, deflated(v), len(v), zlib.crc32(v)) for k, v in members.items()])


def test_a_small_file_stays_small(tmp_path: Path):
    """What is declared is unpacked up to the limit, in time, and refused beyond it."""
    path = tmp_path / "reasons.npz"
    path.write_bytes(with_background(1_600_000))
    assert path.stat().st_size < 200_000
    found = Watch().read(lambda: ReasonExplanation.load(path), "")
    assert found.distribution.shape == (1_600_000, 4)
    path.write_bytes(with_background(4_000_000))
    begin = f"{path} {WRONG}: it takes 160,00"
    assert Watch().read(lambda: ReasonExplanation.load(path), begin) is None


def test_max_bytes(tmp_path: Path):
    """The limit can be set, and the error tells which would do."""
    explanation, content = originals()["units"]
    path = tmp_path / "reasons.npz"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError) as caught:
        ReasonExplanation.load(path, max_bytes=9_000)
    match = re.fullmatch(
        rf"{re.escape(str(path))} {WRONG}: it takes ([0-9,]+) bytes unpacked, more than the 9,000 "
        r"that it may; if you trust it, pass max_bytes=(\d+)\.",
        str(caught.value),
    )
    assert match is not None
    again = ReasonExplanation.load(path, max_bytes=int(match[2]))
    assert same_reasons(again, explanation)
    for wrong in (0, -1, True, "9", 1.5):
        message = f"max_bytes must be None or a whole number >= 1, got {wrong!r}."
        with refused(message):
            ReasonExplanation.load(path, max_bytes=wrong)  # type: ignore[arg-type]
