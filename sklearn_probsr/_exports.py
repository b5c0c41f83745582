"""Public names that are imported when first used, so that importing a package stays light."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["exports"]


def exports(
    module: str, homes: Mapping[str, tuple[str, ...]], *more: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a module that exports names of others.

    Parameters
    ----------
    module : str
        The module that exports them.
    homes : mapping of str to tuple of str
        Which modules of the package, relative to it, define which names. A module that is itself
        exported is the home of its own name.
    *more : str
        What the module has of its own, and shows.

    Returns
    -------
    getter : callable
    lister : callable
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def getter(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found = import_module(f"sklearn_probsr.{home}")
        value = found if home == name else getattr(found, name)
        setattr(sys.modules[module], name, value)
        return value

    def lister() -> list[str]:
        return sorted([*home_of, *more])

    return getter, lister
