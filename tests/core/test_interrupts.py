"""Ctrl-C: it ends a search as it ends any other line of Python."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

import sklearn_probsr
from sklearn_probsr.core import jit
from tests.interpreted import INTERPRETED, WHOLE_RUN

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")


class Found(NamedTuple):
    values: np.ndarray
    times: int


class Same(NamedTuple):
    first: np.ndarray
    second: np.ndarray


@jit.kernel
def _work(n):
    total = np.zeros(8)
    for i in range(n):
        total[i & 7] += total[(i + 1) & 7] * 0.5 + 1.0
    return total


@jit.kernel
def array(n):
    return _work(n)


@jit.kernel
def arrays(n):
    return n, _work(n), _work(8) > 0


@jit.kernel
def named(n):
    return Found(_work(n), n)


@jit.kernel
def same(n):
    return Same(_work(n), _work(8))


@jit.kernel
def nested(n):
    return Found(_work(n), n), (Same(_work(8), _work(8)), 1.0)


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@pytest.mark.parametrize("kernel", [array, arrays, named, same, nested], ids=lambda k: k.__name__)
def test_an_interrupt_within_a_kernel(kernel):
    """It is a KeyboardInterrupt behind the kernel, whatever that returns, and what it returns."""
    plain = kernel(16)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            kernel(100_000_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    again = kernel(16)
    assert type(again) is type(plain)
    assert repr(again) == repr(plain)


@pytest.fixture
def sent_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Return what interrupts this process as soon as a function is called, and tells whether."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    before = sys.getprofile()
    # In the background of a shell it would be ignored.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    sent: list[str] = []

    def watch(name: str) -> list[str]:
        def seen(frame, event, arg):
            if event == "call" and frame.f_code.co_name == name and not sent:
                sent.append(name)
                signal.raise_signal(signal.SIGINT)

        sent.clear()
        sys.setprofile(seen)
        return sent

    yield watch
    sys.setprofile(before)
    signal.signal(signal.SIGINT, handler)


def add_one(x):
    return x + 1


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@pytest.mark.parametrize("place", ["compiled", "loaded"])
def test_an_interrupt_while_llvm_calls_python(sent_from, place: str):
    """It is not lost there, and the kernel is whole afterwards."""
    if place == "loaded":
        assert jit.kernel(add_one)(1) == 2
    kernel = jit.kernel(add_one)
    name = {"compiled": "_raw_object_cache_notify", "loaded": "_raw_object_cache_getbuffer"}[place]
    sent = sent_from(name)
    with pytest.raises(KeyboardInterrupt):
        kernel(1)
    assert sent == [name]
    sys.setprofile(None)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert kernel(1) == 2
    assert sum(kernel.stats.cache_hits.values()) == (place == "loaded")


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_an_interrupt_between_two_functions_of_a_kernel(sent_from):
    """Compiling ends before the next function, and starts over when the kernel is called again."""
    first, second = jit.inner(add_one), jit.inner(lambda x: 2 * x)
    kernel = jit.kernel(lambda x: second(first(x)))
    sent_from("create_library")
    with pytest.raises(KeyboardInterrupt):
        kernel(1)
    assert (len(first.signatures), len(second.signatures)) == (1, 0)
    sys.setprofile(None)
    assert kernel(1) == 4


def test_a_handler_of_ones_own_is_called_once_and_goes_on(sent_from):
    """What a signal means is left to its handler, also that it does not end anything."""
    told: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
    try:
        sent = sent_from("_raw_object_cache_notify")
        assert jit.kernel(add_one)(1) == 2
    finally:
        signal.signal(signal.SIGINT, before)
    assert told == [signal.SIGINT] * len(sent)
    assert sent or INTERPRETED


def test_results_are_of_their_classes():
    """Arrays that can be written to and named tuples, as from Python."""
    found, (both, one) = nested(16)
    assert type(found) is Found
    assert type(found.values) is np.ndarray
    assert found.values.flags.writeable
    assert found.times == 16
    assert type(both) is Same
    assert both.second.tolist() == _work(8).tolist()
    assert one == 1.0


# Explains rows over and over, until it is interrupted; then says so, and goes on.
ASK = r"""
import os
import sys
import signal
import numpy as np
from sklearn_probsr import LinearModel, Matching, sufficient_reasons
signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background of a shell
rng = np.random.default_rng(0)
rows = rng.integers(0, 2, (400, 30))
model = LinearModel(rng.standard_normal(30), 0.1)
over = Matching(rows, min_rows=5)
for _ in range(int(sys.argv[1])):
    try:
        while True:
            sufficient_reasons(model, rows[:20], distribution=over, delta=0.9)
            os.write(1, b"ready\n")
    except BaseException as error:
        os.write(1, f"{type(error).__name__}\n".encode())
"""


def test_interrupts_of_a_search():
    """At whatever moment they come, each is a KeyboardInterrupt."""
    times = 60 if WHOLE_RUN else 10
    env = {**os.environ, "PYTHONPATH": str(Path(sklearn_probsr.__file__).parents[1])}
    env.pop("COVERAGE_PROCESS_START", None)
    command = [sys.executable, "-c", ASK, str(times)]
    ends = []
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as asked:
        watch = threading.Timer(300, asked.kill)
        watch.daemon = True
        watch.start()
        for wait in np.random.default_rng(0).uniform(0, 0.03, times):
            while asked.stdout.readline() != "ready\n":
                assert asked.poll() is None
            threading.Timer(wait, asked.send_signal, [signal.SIGINT]).start()
            while (said := asked.stdout.readline()) == "ready\n":
                pass
            ends.append(said)
        watch.cancel()
    assert asked.returncode == 0
    assert ends == ["KeyboardInterrupt\n"] * times
