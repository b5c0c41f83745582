"""The decorators of every compiled function, where compiled code is kept, and what compiling needs.

`kernel` and `strict_kernel` compile what Python calls, `inner` and `strict_inner` what only kernels
call. Compiled code is kept on disk, a file for each kernel and signature, sealed, or as good as not
there. Processes of one user compile one at a time, and load what one compiled. Meanwhile clocks of
time limits stand still, and signals are handled a little later; results are made without running
Python, where Numba would lose a signal. What a kernel is made of is turned into machine code with
it, once, and not by itself before.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import hashlib
import inspect
import os
import pickle
import signal
import stat
import sys
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import numba
from numba import types

from sklearn_probsr.core.options import standing_still

try:
    import fcntl
except ImportError:  # elsewhere than on POSIX every process compiles for itself
    fcntl = None  # type: ignore[assignment]

try:
    from numba.core.boxing import box_array, box_tuple
    from numba.core.caching import FunctionCache
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.environment import lookup_environment
    from numba.core.event import Listener, install_listener
    from numba.core.pythonapi import _boxers
    from numba.core.serialize import dumps
except ImportError:  # another Numba, which compiles and keeps kernels in its own ways
    FunctionCache = JITCodeLibrary = Listener = object

__all__ = ["inner", "kernel", "loop", "strict_inner", "strict_kernel"]


F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reordered and multiply-adds fused (the error bounds hold for any order); NaN and
# infinity keep their meaning.
_OPTIONS = {
    "nogil": True,
    "no_cfunc_wrapper": True,
    "fastmath": {"reassoc", "contract", "nsz"},
    "error_model": "numpy",
}
# Every operation is rounded by itself, in the order that is written down: what error-free
# transformations need. It is said by name, as a function that names no flags takes its caller's.
_STRICT = {**_OPTIONS, "fastmath": False}


def kernel(function: F) -> F:
    """Compile a function: cached on disk if possible, without the GIL, sums in any order.

    Numba keeps compiled code beside the module or below the user's home. Where it cannot write to
    the one, and the other is not this user's alone, a temporary directory that is takes it, and
    else memory. ``NUMBA_CACHE_DIR`` is taken as it is.
    """
    return _kept(function, _OPTIONS)


def strict_kernel(function: F) -> F:
    """Compile a function as `kernel` does, with every float operation as it is written."""
    return _kept(function, _STRICT)


def inner(function: F) -> F:
    """Compile a function that only compiled functions call: no door to Python is built."""
    compiled: F = numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function)
    return _of_any_number(compiled)


def loop(function: F) -> F:
    """Compile what only compiled functions call, and optimize it before it is linked to them.

    A loop over an array of its own is vectorised so where it may not be within a kernel that has
    many; elsewhere it takes time and gains nothing.
    """
    compiled: Any = numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function)
    if hasattr(compiled, "compile") and FunctionCache is not object:
        plain = compiled.compile

        def compile(sig: Any) -> Any:
            codegen = compiled.targetctx.codegen()
            before = codegen._library_class
            codegen._library_class = _Optimized
            try:
                return plain(sig)
            finally:
                codegen._library_class = before

        compiled.compile = compile
    found: F = _of_any_number(compiled)
    return found


def strict_inner(function: F) -> F:
    """Compile a function that only strict kernels call."""
    compiled: F = numba.njit(no_cpython_wrapper=True, **_STRICT)(function)
    return _of_any_number(compiled)


def _of_any_number(compiled: F) -> F:
    """Let compiled functions call one with a number that is written down as with any other.

    Numba would compile it anew for each such number, and for a variable once more before it knows
    that its first value, 0 say, is not its only one.
    """
    plain = getattr(compiled, "get_call_template", None)
    if plain is None:  # it is not compiled at all
        return compiled

    def get_call_template(args: Any, kws: Any) -> Any:
        return plain(
            tuple(types.unliteral(arg) for arg in args),
            {name: types.unliteral(arg) for name, arg in kws.items()},
        )

    compiled.get_call_template = get_call_template  # type: ignore[attr-defined]
    return compiled


def _kept(function: F, options: dict[str, Any]) -> F:
    """Keep what is compiled of a kernel on disk, and let one process at a time compile it."""
    if numba.config.DISABLE_JIT or FunctionCache is object:
        plain: F = numba.njit(cache=True, **options)(function)
        return _of_any_number(plain)
    compiled: Any = numba.njit(**options)(function)
    cache = _cache(compiled) or _temporary_cache(compiled)
    if cache is None:
        _warn()
    else:
        compiled._cache = cache
    compile_ = compiled.compile

    def compile(sig: Any) -> Any:
        # Numba takes its lock as well; what is changed here while a kernel is compiled is for all.
        with global_compiler_lock:
            if _Compiling.now:  # a kernel that another one calls
                return compile_(sig)
            with _compiling(compiled.targetctx.codegen()):
                return compile_(sig)

    compiled.compile = compile
    found: F = _of_any_number(compiled)
    return found


# --- where compiled code is kept ------------------------------------------------------------------


def _cache(kernel: Any) -> _Cache | None:
    """Return the place that Numba finds for a kernel; None if there is none, or it is not to be."""
    try:
        cache = _Cache(kernel)
    except RuntimeError:  # no place that can be written to
        return None
    beside = os.path.join(os.path.dirname(inspect.getfile(kernel.py_func)), "__pycache__")
    told = bool(numba.config.CACHE_DIR)  # by the user, or below
    return cache if told or cache.cache_path == beside or _is_ours(Path(cache.cache_path)) else None


def _temporary_cache(kernel: Any) -> _Cache | None:
    """Return a place for a kernel where this user alone can write; None if there is none."""
    place = _temporary()
    if place is None:
        return None
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, place
    try:
        cache = _cache(kernel)
    finally:
        numba.config.CACHE_DIR = before
    # It is elsewhere if the module is in an archive.
    return cache if cache is not None and Path(place) in Path(cache.cache_path).parents else None


@functools.cache
def _warn() -> None:
    """Say once that nothing is kept."""
    warnings.warn(
        "compiled code cannot be kept: neither the package nor the home nor the temporary "
        "directory is a place where this user, and nobody else, can write. Every process compiles "
        "anew, which takes seconds. Set NUMBA_CACHE_DIR to a directory of your own.",
        RuntimeWarning,
        stacklevel=2,
    )


@functools.cache
def _temporary() -> str | None:
    """Return a temporary directory where this user alone can write; None if there is none.

    It is one for each user, so that processes share it. Its name is no secret; what counts is who
    made it.
    """
    if sys.platform == "win32":
        return None
    try:
        path = Path(tempfile.gettempdir()).resolve() / f"sklearn-probsr-{os.geteuid()}"
        path.mkdir(mode=0o700, exist_ok=True)
        return str(path) if _is_ours(path) else None
    except OSError:
        return None


def _is_ours(path: Path) -> bool:
    """Whether this user alone can write to a directory, or put another one in its place.

    Compiled code is kept in pickles, which are code: whoever can write there can run what they like
    as this user.
    """
    if sys.platform == "win32":  # homes are closed there, and there is no sign of it to look at
        return True
    user = os.geteuid()
    try:
        own = path.lstat()
        above = [one.stat() for one in {*path.parents, *path.resolve().parents}]
    except OSError:
        return False
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != user or own.st_mode & 0o022:
        return False
    return all(
        # In a sticky directory, as /tmp is, an entry can be replaced by its owner alone.
        one.st_uid in {0, user} and (not one.st_mode & 0o022 or one.st_mode & stat.S_ISVTX)
        for one in above
    )


_SEAL = 32
_WARNED: list[str] = []


class _Cache(FunctionCache):  # type: ignore[misc]
    """The files of a kernel, in place of Numba's index and data.

    Each begins with a seal of all that its code depends on and of the code itself: what does not
    bear it out, for whatever reason, is not loaded, and written anew. To look for code, and to wait
    for who compiles it and look again, costs no answer; what cannot be kept is warned of, once.

    Parameters
    ----------
    kernel : Numba's dispatcher
    """

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel.py_func)
        self._kernel, self._cache_file = kernel, self
        self._folder, self._base = Path(self.cache_path), self._impl.filename_base

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, perhaps compiled by another process meanwhile."""
        found = self._found(sig, target_context)
        if found is None:
            _LOCK.take(_temporary)
            found = self._found(sig, target_context)
        return found

    def _found(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever it is, compiling it anew is the answer
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, if that can be."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            why = getattr(error, "strerror", None) or repr(error)
            if not _WARNED:
                warnings.warn(
                    f"compiled code cannot be kept in {self.cache_path}: {why}. Every process "
                    "compiles anew what is not kept, which takes seconds. Make room there, or set "
                    "NUMBA_CACHE_DIR to a directory of your own.",
                    RuntimeWarning,
                    stacklevel=2,
                )
            _WARNED.append(why)

    def load(self, key: Any) -> Any:
        """Return what was saved under a key; None if nothing was, or something else is there."""
        path, identity = self._told(key)
        data = path.read_bytes() if path.is_file() else b""  # a pipe would be read for ever
        if data[:_SEAL] != _seal(identity, data[_SEAL:]):
            return None
        return pickle.loads(data[_SEAL:])

    def save(self, key: Any, data: Any) -> None:
        """Save something under a key, at once or not at all."""
        path, identity = self._told(key)
        payload: bytes = dumps(data)
        new = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}")
        try:
            new.write_bytes(_seal(identity, payload) + payload)
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


def _seal(identity: str, payload: bytes) -> bytes:
    seal = hashlib.blake2b(identity.encode(), digest_size=_SEAL)
    seal.update(payload)
    return seal.digest()


def _spelled(kind: Any) -> Any:
    """Return a type in full: Numba's name of a named tuple does not have its fields' names."""
    inside = [_spelled(one) for one in getattr(kind, "types", ())]
    return repr(kind), getattr(kind, "fields", ()), inside


@functools.cache
def _written(kernel: Any) -> str:
    """Return how a kernel is written, with all kernels and numbers of modules that it uses."""
    told: list[Any] = []
    seen = [kernel]
    for one in seen:  # which grows meanwhile
        function = one.py_func
        options = {k: sorted(v) if isinstance(v, set) else v for k, v in one.targetoptions.items()}
        told += [function.__module__, function.__qualname__, sorted(options.items())]
        names: set[str] = set()
        for code in _codes(function.__code__):
            names.update(code.co_names)
            numbers = [value for value in code.co_consts if not isinstance(value, CodeType)]
            told.append((code.co_code, code.co_names, code.co_varnames, numbers))
        used = [(name, function.__globals__.get(name)) for name in sorted(names)]
        for name, value in (*used, *enumerate(function.__defaults__ or ())):
            if isinstance(value, bool | int | float | str):
                told.append((name, value))
            elif hasattr(value, "_fields"):
                told.append((name, value._fields))
            elif hasattr(value, "targetoptions"):
                seen += [value] if value not in seen else []
            elif hasattr(value, "compiled_as"):  # one function for several types
                seen += [kernel for kernel in value.compiled_as() if kernel not in seen]
    return repr(told)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of those within it."""
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes(value)


# --- while a kernel is compiled -------------------------------------------------------------------


class _Compiling:
    """Whether a kernel is compiled at present, by any thread."""

    now = False


@contextlib.contextmanager
def _compiling(codegen: Any) -> Iterator[None]:
    """Prepare for the compiling of a kernel, and of those that it calls."""
    with _signals_held(), standing_still(), _made_in_c(), _collector_at_rest():
        plain = codegen.set_env

        def set_env(name: str, env: Any) -> None:
            if codegen._engine.get_global_value_address(name):  # else with what is linked to it
                plain(name, env)

        _Compiling.now, codegen._library_class, codegen.set_env = True, _Part, set_env
        try:
            yield
        finally:
            _Compiling.now = False
            del codegen._library_class, codegen.set_env
            _LOCK.give_back()


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """A function of which no machine code is made before Python, or another's kernel, asks for it.

    Numba would optimize each function that a kernel is made of and turn it into machine code, and
    do both once more with the kernel.
    """

    _emitted = False

    def finalize(self) -> None:
        """Link what the function calls."""
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(library, "_reload_init"):  # from Numba 0.61 on
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return where a function's machine code is; 0 if it is not defined here."""
        self._ensure_finalized()
        try:
            defined = not self._final_module.get_function(name).is_declaration
        except NameError:
            defined = False
        if not defined and not self._emitted:
            return 0
        self._emit()
        address: int = super().get_pointer_to_function(name)
        return address

    def _get_module_for_linking(self) -> Any:
        if not _Compiling.now:
            self._emit()
        return super()._get_module_for_linking()

    def _emit(self) -> None:
        if not self._emitted:
            self._ensure_finalized()
            self._shared_module = None
            self._optimize_final_module()
            self._final_module.verify()
            self._finalize_final_module()
            for variable in self._final_module.global_variables:
                env = lookup_environment(variable.name)
                if env is not None:
                    self._codegen.set_env(variable.name, env)

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        self._emitted = True


class _Optimized(_Part):
    """A function that is optimized by itself."""

    def finalize(self) -> None:
        """Link what the function calls, and optimize it."""
        super().finalize()
        self._optimize_final_module()


# Who has waited for so many seconds compiles all the same.
_PATIENCE, _PAUSE = 300.0, 0.02


class _Lock:
    """A lock among processes, held from the first kernel that is compiled until that is kept.

    A process that ends lets go of it, however it ends.
    """

    def __init__(self) -> None:
        self._file: int | None = None

    def take(self, place: Callable[[], str | None]) -> None:
        """Wait until no other process compiles; go on without a lock where there can be none."""
        folder = place() if self._file is None and fcntl is not None else None
        if folder is None:
            return
        try:
            self._file = os.open(Path(folder) / "compiling.lock", os.O_RDWR | os.O_CREAT, 0o600)
            last = time.monotonic() + _PATIENCE
            while time.monotonic() < last:
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(_PAUSE)
                    _SIGNALS.handle()
        except OSError:  # a file system without locks
            self.give_back()

    def give_back(self) -> None:
        """Let others compile."""
        if self._file is not None:
            os.close(self._file)  # which unlocks it
            self._file = None


_LOCK = _Lock()


@contextlib.contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Let Python's garbage collector rest, if it was at work.

    Compiling makes millions of objects that live until it ends; going through them over and over
    is an eighth of the time that it takes.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


class _Signals(Listener):  # type: ignore[misc]
    """The signals that came while they were held, with the handlers that are meant for them.

    They are handled before each function that a kernel is made of, which take a second or so.
    """

    def __init__(self) -> None:
        self.held = False
        self.came: list[tuple[Any, int, Any]] = []

    def handle(self) -> None:
        """Handle those that came up to now, in the thread in which Python does."""
        if threading.current_thread() is threading.main_thread():
            came, self.came = self.came, []
            for handler, number, frame in came:
                handler(number, frame)

    def on_start(self, event: Any) -> None:
        self.handle()

    def on_end(self, event: Any) -> None:
        """Do nothing: what was compiled has still to be added."""


_SIGNALS = _Signals()


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Hold back what Python would call for signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = {int(number): signal.getsignal(number) for number in signal.valid_signals()}
    handlers = {number: handler for number, handler in known.items() if callable(handler)}

    def hold(number: int, frame: Any) -> None:
        if _SIGNALS.held:
            _SIGNALS.came.append((handlers[number], number, frame))
        else:  # one came while they were put back
            handlers[number](number, frame)

    try:
        _SIGNALS.held = True
        _set(dict.fromkeys(handlers, hold))
        with install_listener("numba:compile", _SIGNALS):
            yield
    finally:
        _SIGNALS.held = False
        _set(handlers)
        _SIGNALS.handle()


def _set(handlers: Mapping[int, Any]) -> None:
    """Set the handlers of some signals."""
    with contextlib.suppress(ValueError):  # Python is not the main program here
        for number, handler in handlers.items():
            signal.signal(number, handler)


# --- results made in C ----------------------------------------------------------------------------


def _constant(c: Any, value: Any) -> Any:
    """Return a value that is kept with the kernel: a new reference, as from a pickle."""
    found = c.env_manager.read_const(c.env_manager.add_const(value))
    c.pyapi.incref(found)
    return found


def _array(typ: Any, val: Any, c: Any) -> Any:
    """Make an array as Numba does, of a class that is kept with the kernel."""
    pyapi = copy.copy(c.pyapi)
    pyapi.serialize_object = lambda value: value
    pyapi.unserialize = lambda value: _constant(c, value)
    return box_array(typ, val, c._replace(pyapi=pyapi))


def _named_tuple(typ: Any, val: Any, c: Any) -> Any:
    """Make a named tuple as its class would, which only counts the items."""
    make, kind = _constant(c, tuple.__new__), _constant(c, typ.instance_class)
    items = box_tuple(typ, val, c)
    made = c.pyapi.call_function_objargs(make, (kind, items))
    for used in (make, kind, items):
        c.pyapi.decref(used)
    return made


_BOXES: dict[type, Callable[[Any, Any, Any], Any]] = {
    types.Array: _array,
    types.NamedTuple: _named_tuple,
    types.NamedUniTuple: _named_tuple,
}


@contextlib.contextmanager
def _made_in_c() -> Iterator[None]:
    """Have what is compiled meanwhile make its results so, and nobody else's kernels."""
    before = {kind: _boxers.functions[kind] for kind in _BOXES}
    _boxers.functions.update(_BOXES)
    try:
        yield
    finally:
        _boxers.functions.update(before)
