"""Paths: what may be read and how much of it, and output that overwrites nothing by accident."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["bearable", "check_input", "check_output", "write_output"]

# What a packed file may become: so many bytes, or so many times its size.
_BEARABLE, _TIMES = 1 << 28, 50


def check_input(path: Path) -> None:
    """Refuse a path that no file is at."""
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder, not a file.")
    if not path.exists():
        raise InvalidInputError(f"There is no file {path}.")
    if not path.is_file():  # it is opened more than once, and a pipe is empty then
        raise InvalidInputError(f"{path} is no regular file. Save what it gives to one first.")


def bearable(*files: Path) -> int:
    """Return how many bytes files may take unpacked; more is made to fill the memory."""
    return max(_BEARABLE, _TIMES * sum(path.stat().st_size for path in files))


def check_output(path: Path, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse to write where that cannot be done, or where something is already.

    Parameters
    ----------
    path : Path
    force : bool
        Whether a file that is there may be overwritten.
    inputs : iterable of Path, default=()
        Files that must not be overwritten in any case.
    """
    if "\0" in str(path):
        raise InvalidInputError(f"{path} is no name that a file can have.")
    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder. Name a file in it.")
    if os.path.lexists(path):
        if not force:
            raise InvalidInputError(f"{path} exists already. Choose another name, or pass --force.")
        if any(path.exists() and path.samefile(other) for other in inputs if other.exists()):
            raise InvalidInputError(
                f"{path} is read, so it cannot be written. Choose another name."
            )
    folder = path.parent
    if not folder.is_dir():
        raise InvalidInputError(f"There is no folder {folder} to write {path.name} to.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"Nothing can be written to the folder {folder}.")


def write_output(path: Path, force: bool, write: Callable[[Path], Any]) -> None:
    """Let something write a file, unless one has come to be there meanwhile."""
    check_output(path, force)
    try:
        write(path)
    except OSError as error:
        raise InvalidInputError(
            f"{path} could not be written: {error.strerror or error}."
        ) from error
