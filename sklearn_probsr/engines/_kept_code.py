"""Compiled code on disk: a file for each kernel and signature, sealed, or as good as not there.

Numba's own files are an index and what it points to. An index that is damaged stops every process
for good; one that was written by a process which ended before it wrote the rest points to code of
another version; and neither notices that a kernel's callee was edited.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numba
from numba.core.serialize import dumps

__all__ = ["Looking"]

_SEAL = 32
_SIMPLE = (bool, int, float, str)


def _parts(code: CodeType) -> Iterator[Any]:
    """Yield what a function does: its steps, the names that it uses and its numbers."""
    yield code.co_code, code.co_names, code.co_varnames
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _parts(value)
        else:
            yield value


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function, and those within it, may look up outside."""
    yield from code.co_names
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _names(value)


@functools.cache
def _written(kernel: Any) -> str:
    """Return how a kernel is written, with all kernels and numbers of modules that it uses."""
    told: list[Any] = []
    seen, open_ones = {kernel}, [kernel]
    while open_ones:
        one = open_ones.pop()
        function = one.py_func
        options = {k: sorted(v) if isinstance(v, set) else v for k, v in one.targetoptions.items()}
        told += [function.__module__, function.__qualname__, sorted(options.items())]
        told += _parts(function.__code__)
        names = sorted(set(_names(function.__code__)))
        used = [(name, function.__globals__.get(name)) for name in names]
        for name, value in (*used, *enumerate(function.__defaults__ or ())):
            if hasattr(value, "py_func") and hasattr(value, "targetoptions"):
                if value not in seen:
                    seen.add(value)
                    open_ones.append(value)
            elif isinstance(value, _SIMPLE):
                told.append((name, value))
            elif hasattr(value, "_fields"):
                told.append((name, value._fields))
    return repr(told)


def _spelled(kind: Any) -> Any:
    """Return a type in full: Numba's name of a named tuple does not have its fields' names."""
    inner = [_spelled(one) for one in getattr(kind, "types", ())]
    return repr(kind), getattr(kind, "fields", ()), inner


class _Files:
    """The files of a kernel, which stand for Numba's index and data.

    Each begins with a seal of all that its code depends on and of the code itself: what does not
    bear it out, for whatever reason, is not loaded, and written anew.
    """

    def __init__(self, kernel: Any, cache: Any) -> None:
        self._kernel = kernel
        self._folder, self._base = Path(cache.cache_path), cache._impl.filename_base

    def load(self, key: Any) -> Any:
        """Return what was saved under a key; None if nothing was, or something else is there."""
        path, identity = self._told(key)
        try:
            data = path.read_bytes() if path.is_file() else b""  # a pipe would be read for ever
        except OSError:
            return None
        if data[:_SEAL] != self._seal(identity, data[_SEAL:]):
            return None
        return pickle.loads(data[_SEAL:])

    def save(self, key: Any, data: Any) -> None:
        """Save something under a key, at once or not at all."""
        path, identity = self._told(key)
        payload: bytes = dumps(data)
        new = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}")
        try:
            new.write_bytes(self._seal(identity, payload) + payload)
            os.replace(new, path)
        except BaseException:
            with contextlib.suppress(OSError):
                new.unlink()
            raise

    def flush(self) -> None:
        """Forget all."""
        for path in self._folder.glob(f"{self._base}.*.nbc"):
            path.unlink()

    def _told(self, key: Any) -> tuple[Path, str]:
        """Return where code is kept, and all that it depends on."""
        signature, machine, *rest = key
        arguments = getattr(signature, "args", signature)
        place = repr(([_spelled(one) for one in arguments], machine))
        name = hashlib.sha256(place.encode()).hexdigest()[:16]
        identity = repr((numba.__version__, place, rest, _written(self._kernel)))
        return self._folder / f"{self._base}.{name}.nbc", identity

    @staticmethod
    def _seal(identity: str, payload: bytes) -> bytes:
        seal = hashlib.blake2b(identity.encode(), digest_size=_SEAL)
        seal.update(payload)
        return seal.digest()


class Looking:
    """A kernel's place on disk, at which to look, and to wait and look again, costs no answer.

    What cannot be loaded is missing, and what cannot be kept is warned of, once.

    Parameters
    ----------
    kernel : Numba's dispatcher
    cache : Numba's cache
        Of that kernel.
    wait : callable
        Called where nothing is found, before it is looked for once more.
    """

    def __init__(self, kernel: Any, cache: Any, wait: Any) -> None:
        self._cache, self._wait = cache, wait
        if hasattr(cache, "_cache_file"):  # it keeps anything, and is the Numba that is known
            cache._cache_file = _Files(kernel, cache)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, perhaps compiled by another process meanwhile."""
        found = self._found(sig, target_context)
        if found is None:
            self._wait()
            found = self._found(sig, target_context)
        return found

    def _found(self, sig: Any, target_context: Any) -> Any:
        try:
            return self._cache.load_overload(sig, target_context)
        except Exception:  # whatever it is, compiling it anew is the answer
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, if that can be."""
        try:
            self._cache.save_overload(sig, data)
        except Exception as error:
            _warn(self._cache.cache_path, getattr(error, "strerror", None) or repr(error))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_cache":
            raise AttributeError(name)
        return getattr(self._cache, name)


_WARNED: list[str] = []


def _warn(folder: Any, why: str) -> None:
    """Say once that something could not be kept."""
    if _WARNED:
        return
    _WARNED.append(why)
    warnings.warn(
        f"compiled code cannot be kept in {folder}: {why}. Every process compiles anew what is not "
        "kept, which takes seconds. Make room there, or set NUMBA_CACHE_DIR to a directory of your "
        "own.",
        RuntimeWarning,
        stacklevel=2,
    )
