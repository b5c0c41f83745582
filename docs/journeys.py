"""Follow the journeys of ``docs/architecture.md`` through the files: ``python -m docs.journeys``.

The Python block of each journey runs while every call of a function is watched; printed are the
files of the package in the order in which they are entered. Compiled code cannot be watched, so
that the kernels run as plain Python.
"""

import os

os.environ["NUMBA_DISABLE_JIT"] = "1"  # read when Numba is imported

import contextlib
import copy
import importlib
import inspect
import io
import json
import pkgutil
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import sklearn_probsr
from sklearn_probsr.core import dispatch as _dispatch

PAGE = Path(__file__).resolve().parent / "architecture.md"
PACKAGE = Path(sklearn_probsr.__file__).parent


def journeys() -> dict[str, str]:
    """Return the title and the Python block of each journey on the page."""
    text = PAGE.read_text(encoding="utf-8").partition("## Four journeys")[2].partition("\n## ")[0]
    found = re.findall(r"^### (.+?)\n.*?^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return dict(found)


def files_of(journey: Callable[[], Any]) -> list[str]:
    """Return the files of which functions are called, in the order of the first call of each."""
    seen: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        # Not the bodies of modules and classes, which only define; nor names that are looked up.
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:
            seen.setdefault(code.co_filename)

    sys.setprofile(watch)
    try:
        journey()
    finally:
        sys.setprofile(None)
    inside = [Path(name) for name in seen if name.startswith(str(PACKAGE))]
    return [p.relative_to(PACKAGE).as_posix() for p in inside if p.name != "__init__.py"]


if __name__ == "__main__":
    for module in pkgutil.walk_packages([str(PACKAGE)], "sklearn_probsr."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)  # so that no import is part of a journey
    os.chdir(tempfile.mkdtemp())
    told = {}
    for title, block in journeys().items():
        _dispatch._LAWS = copy.copy(_dispatch._LAWS)  # an empty one: each starts anew
        code = compile(block, title, "exec")
        with contextlib.redirect_stdout(io.StringIO()):
            told[title] = files_of(lambda code=code: exec(code, {"__name__": "page"}))
    sys.stdout.write(json.dumps(told, indent=2) + "\n")
