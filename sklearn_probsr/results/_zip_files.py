"""Zip files: what is in one, unpacked no further than it says, and checked on the way.

A few kilobytes can unpack to gigabytes, and the sizes that an archive declares may be lies: so what
is unpacked comes in small pieces, and ends where it is longer than was declared.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.results._checked_json import UnsoundError, json_size, shown

__all__ = ["content", "deep_size", "listed", "pieces"]

_PIECE = 1 << 16
_LOCAL_HEADER = 30


def listed(file: IO[bytes]) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive, each once and packed in a way that is known."""
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
    except Exception as error:  # zipfile has many ways to say that an archive is broken
        raise UnsoundError(f"it is no whole zip archive ({error})") from error
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        if info.filename in found:
            raise UnsoundError(f"{shown(info.filename)} is there twice")
        if info.flag_bits & 0x1:
            raise UnsoundError(f"{shown(info.filename)} is encrypted")
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise UnsoundError(
                f"{shown(info.filename)} is packed by method {info.compress_type}, neither stored "
                "nor deflated"
            )
        found[info.filename] = info
    return found


def pieces(file: IO[bytes], info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield a member piece by piece; end in an error if it is not as long as it says."""
    length = checksum = 0
    for piece in _unpacked(file, info):
        length += len(piece)
        if length > info.file_size:
            break
        checksum = zlib.crc32(piece, checksum)
        yield piece
    if length != info.file_size:
        raise UnsoundError(
            f"{shown(info.filename)} does not have the {info.file_size} bytes it says"
        )
    if checksum != info.CRC:
        raise UnsoundError(f"{shown(info.filename)} is damaged: its checksum is wrong")


def _unpacked(file: IO[bytes], info: zipfile.ZipInfo) -> Iterator[bytes]:
    name = shown(info.filename)
    file.seek(info.header_offset)
    head = file.read(_LOCAL_HEADER)
    if len(head) < _LOCAL_HEADER or head[:4] != b"PK\x03\x04":
        raise UnsoundError(f"{name} is not where the archive says")
    file.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    left = info.compress_size
    while left:
        data = file.read(min(left, _PIECE))
        if not data:
            raise UnsoundError(f"{name} is cut short")
        left -= len(data)
        if info.compress_type == zipfile.ZIP_STORED:
            yield data
            continue
        try:
            while data:
                yield inflate.decompress(data, _PIECE)
                data = inflate.unconsumed_tail
        except zlib.error as error:
            raise UnsoundError(f"{name} is damaged: {error}") from error
    if info.compress_type == zipfile.ZIP_DEFLATED:
        yield inflate.flush()
        if not inflate.eof or inflate.unused_data:
            raise UnsoundError(f"{name} is cut short")


def content(file: IO[bytes], info: zipfile.ZipInfo) -> NDArray[np.uint8]:
    """Return all bytes of a member, whose declared size was found to be bearable before."""
    held, at = np.empty(info.file_size, dtype=np.uint8), 0
    for piece in pieces(file, info):
        held[at : at + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        at += len(piece)
    return held


def deep_size(file: IO[bytes], most: int, depth: int = 2) -> int:
    """Return how many bytes the members of an archive unpack to; JSON counts for its values.

    Members that are archives count for what is in them as well. What is unpacked is not kept, but
    for members that have to be looked into, one at a time; all of it ends above ``most``.
    """
    total = 0
    for info in listed(file).values():
        inside = info.filename.endswith((".json", ".npz", ".zip"))
        held = io.BytesIO()
        for piece in pieces(file, info):
            total += len(piece)
            if total > most:
                return total
            if inside:
                held.write(piece)
        if info.filename.endswith(".json"):
            total += json_size(held.getvalue())
        elif inside:
            if not depth:
                raise UnsoundError(f"{shown(info.filename)} is an archive in too many others")
            total += deep_size(held, most - total, depth - 1)
        if total > most:
            break
    return total
