"""A decision that can be asked for reasons with and without some features."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from sklearn_probsr._functions import answer
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Options, Task
from sklearn_probsr.results._reason import SufficientReason

__all__ = ["Decision", "reaches"]


def reaches(found: SufficientReason) -> bool:
    """Tell whether a set reaches its level: it is no best one in place of those that do."""
    return found.status == "ok" and found.minimality != "best-of-size"


@dataclass(frozen=True)
class Decision:
    """One row before a law, and what is asked of its reasons."""

    law: Law
    row: NDArray[Any]
    options: Options

    def reason(
        self, include: Collection[int] = (), exclude: Collection[int] = (), flag: bool = True
    ) -> SufficientReason:
        """Return the reason that has some features and lacks others, beside those asked for.

        Where delta is out of reach it is the best set, flagged, unless that is to be an error.
        """
        inside, outside = (*self.task.include, *include), (*self.task.exclude, *exclude)
        options = replace(self.options, include=inside, exclude=outside)
        return answer(self.law, self.row[None, :], options, "certified", None, flag=flag)[0]

    def fits(
        self, size: int, include: Collection[int] = (), exclude: Collection[int] = ()
    ) -> tuple[bool | None, SufficientReason]:
        """Tell whether some set of at most a size, with and without some features, reaches delta.

        None if that stays open.
        """
        found = self.reason(include, exclude)
        if reaches(found) and found.size <= size:
            return True, found
        if found.size_lower > size:
            return False, found
        return (False if self.is_hopeless(exclude, include) else None), found

    def is_hopeless(self, exclude: Collection[int], include: Collection[int] = ()) -> bool:
        """Tell whether it is proved that no set without some features reaches delta."""
        inside, outside = (*self.task.include, *include), (*self.task.exclude, *exclude)
        task = replace(self.task, include=inside, exclude=outside, flag=True).timed()
        if self.law.conditional:  # its own search says below which size nothing is enough
            allowed = len(inside) + int(task.may_choose(1, self.law.model.n_units).sum())
            return self.reason(include, exclude).size_lower > allowed
        return self.law.is_hopeless(self.row, task)

    @cached_property
    def task(self) -> Task:
        """What is asked, checked."""
        return self.law.within(self.row[None, :], self.options.task(self.law.model))

    @cached_property
    def members(self) -> list[int]:
        """The features that a minimum reason may have beside the forced ones."""
        return sorted(self.task.open_to(self.law.view(self.row).members()))

    # A law goes as the model and the distribution that it is of.
    def __getstate__(self) -> dict[str, Any]:
        pair = (self.law.given, self.law.distribution)
        return {"pair": pair, "row": self.row, "options": self.options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        law = law_of(*state["pair"])
        self.__dict__.update(law=law, row=state["row"], options=state["options"])
