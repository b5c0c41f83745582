"""Finished parts: what a long run has done, kept beside its output until that is whole."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.results.codec import atomically

__all__ = ["Parts", "digest", "stamps"]


class Parts:
    """The finished parts of one output, in a hidden folder beside it.

    Parameters
    ----------
    output : Path
    job : dict
        What was asked, in values that JSON has: parts of another question are not gone on with.
    resume : bool
        Whether to go on where an earlier run has stopped.
    force : bool
        Whether its parts may be thrown away instead.
    """

    def __init__(self, output: Path, job: dict[str, Any], resume: bool, force: bool) -> None:
        self.folder = output.with_name(f".{output.name}.parts")
        self._job = self.folder / "job.json"
        begun = self._read() if self._job.is_file() else None
        if begun is not None and resume:
            _check_same(output, begun, json.loads(json.dumps(job)))
            return
        if begun is not None and not force:
            n = len(list(self.folder.glob("*.parquet")))
            raise InvalidInputError(
                f"{output} was begun and not finished ({n} parts are there). Pass --resume to go "
                "on, or --force to begin anew."
            )
        self.remove()
        self.folder.mkdir()
        atomically(self._job, lambda file: file.write(json.dumps(job).encode()))

    def _read(self) -> Any:
        try:
            return json.loads(self._job.read_bytes())
        except ValueError:
            return {}

    def _path(self, k: int) -> Path:
        return self.folder / f"part-{k:08}.parquet"

    def has(self, k: int) -> bool:
        """Tell whether a part is finished."""
        return self._path(k).is_file()

    def write(self, k: int, table: Any) -> None:
        """Keep a part; it is there whole, or not at all."""
        from pyarrow import parquet

        atomically(self._path(k), lambda file: parquet.write_table(table, file))

    def tables(self, n: int) -> Iterator[Any]:
        """Yield the first n parts, in their order."""
        from pyarrow import parquet

        for k in range(n):
            yield parquet.read_table(self._path(k))

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _check_same(output: Path, begun: Any, job: dict[str, Any]) -> None:
    begun = begun if isinstance(begun, dict) else {}
    other = [name for name in job if begun.get(name) != job[name]]
    if other:
        raise InvalidInputError(
            f"The parts of {output} are of a run with another {other[0]}, so it cannot go on. Pass "
            "--force without --resume to begin anew."
        )


def digest(path: Path) -> str:
    """Return what tells a file from others with the same name."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamps(files: list[Path]) -> list[Any]:
    """Return name, size and time of files, which are too large to be read for that."""
    return [[str(f), f.stat().st_size, f.stat().st_mtime_ns] for f in files]
