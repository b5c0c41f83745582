"""Kernels are compiled for one kind of arguments each: every other kind costs users seconds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interpreted import INTERPRETED, WHOLE
from tests.layout import ROOT

# Sets are compared by whole numbers or by floats.
TWICE = {
    "_answers": {"helps"},
}

ASK = """
from sklearn_probsr.cli.warm_up import warm_up
from tests.core.every_kernel import kernels
warm_up(lambda told: None)
for one in kernels():
    print(len(one.signatures), one.__module__.rpartition(".")[2], one.__name__)
"""


@WHOLE
@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_kernels_have_one_signature(tmp_path: Path):
    """After explanations under every kind of distribution, with nothing compiled beforehand."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}
    env.pop("COVERAGE_PROCESS_START", None)
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = [line.split() for line in done.stdout.splitlines()]
    assert sum(many != "0" for many, _, _ in told) > 140
    several = {(module, name) for many, module, name in told if int(many) > 1}
    assert several <= {(module, name) for module, names in TWICE.items() for name in names}
