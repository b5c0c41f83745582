"""How times and memory are measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

# Printed at the end of a measured process. On Linux, ru_maxrss starts at the size of the process
# that launched this one; VmHWM does not.
_ACCOUNT = """
import json, resource, sys, time
unit = 1 if sys.platform == "darwin" else 1024
peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if sys.platform == "linux":
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
print(json.dumps([time.process_time(), peak]))
"""


def best_times(repeats: int, *functions: Callable[[], Any]) -> list[float]:
    """Return the shortest CPU time of each function; they take turns, so noise meets all alike.

    With one thread and no waiting, CPU time is what the clock would say on an idle machine.
    """
    best = [float("inf")] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = time.process_time()
            function()
            best[i] = min(best[i], time.process_time() - start)
    return best


class Process(NamedTuple):
    """What a process took: seconds by the clock, seconds of CPU, and bytes at its peak."""

    clock: float
    cpu: float
    peak: int


def run_process(code: str, **environment: str) -> Process:
    """Run code in a fresh Python, and say what that took from its launch to its end."""
    start = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-c", code + _ACCOUNT],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    clock = time.perf_counter() - start
    return Process(clock, *json.loads(run.stdout.splitlines()[-1]))
