"""All kernels of the package, so that a new one is asked what the others are."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import sklearn_probsr.engines
import sklearn_probsr.independent
import sklearn_probsr.rows
import sklearn_probsr.rules


def kernels() -> Iterator[Any]:
    """Yield all kernels of the package."""
    for room in (
        sklearn_probsr.engines,
        sklearn_probsr.independent,
        sklearn_probsr.rows,
        sklearn_probsr.rules,
    ):
        for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            for value in vars(importlib.import_module(module.name)).values():
                if hasattr(value, "py_func") and value.__module__ == module.name:
                    yield value
