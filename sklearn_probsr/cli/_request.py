"""Request: what a command line says, as it was typed, and what of it cannot be asked together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from sklearn_probsr.exceptions import InvalidInputError

if TYPE_CHECKING:
    pass

__all__ = ["Request"]


@dataclass(frozen=True)
class Request:
    """What a command line says, as it was typed."""

    model: Path
    data: Path
    background: str | None
    independent: bool
    sample: int | None
    delta: float
    target: str | None
    id: str | None
    include: Sequence[str]
    exclude: Sequence[str]
    max_size: int | None
    prove: str
    epsilon: float | None
    present_only: bool
    supporting_only: bool
    cost: Sequence[str]
    drop: Sequence[str]
    sep: str | None
    label: str | None
    versus: str | None
    trust: Sequence[str]
    trust_pickle: bool

    @property
    def uniform(self) -> bool:
        """Whether no rows replace what is unknown."""
        return self.background == "uniform"

    @property
    def background_path(self) -> Path | None:
        """The file of the background, if it is another one than that of the data."""
        return None if self.background is None or self.uniform else Path(self.background)

    @property
    def costs(self) -> dict[str, Decimal] | None:
        """What features cost, of texts such as "age=2.5"; None if nothing is told."""
        pairs = (text.rpartition("=") for text in self.cost)
        return {name: Decimal(number) for name, _, number in pairs} or None

    @property
    def told_costs(self) -> dict[str, dict[str, float]]:
        """The same as JSON has it; nothing if nothing is told."""
        costs = self.costs
        return {} if costs is None else {"cost": {name: float(v) for name, v in costs.items()}}

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        other = self.background_path
        return [self.model, self.data, *([] if other is None else [other])]

    def check(self) -> None:
        """Refuse what cannot be asked for together, before anything is read."""
        if self.uniform and self.independent:
            raise InvalidInputError(
                "--independent is about rows, and --background uniform has none. Leave one of them "
                "out."
            )
        if self.sample is not None and (self.uniform or self.independent):
            rival = "--background uniform" if self.uniform else "--independent"
            raise InvalidInputError(
                f"--sample is about rows that replace features together, and {rival} has none. "
                "Leave one of them out."
            )
        both = [name for name in self.include if name in self.exclude]
        if both:
            raise InvalidInputError(
                f"--include and --exclude must not share features, got {both[0]!r} in both."
            )
        forced = len(set(self.include))
        if self.max_size is not None and forced > self.max_size:
            raise InvalidInputError(
                f"--include forces {forced} feature{'s' if forced > 1 else ''} in, more than "
                f"--max-size {self.max_size}. Raise it, or include fewer."
            )
        if self.id is not None and self.id == self.target:
            raise InvalidInputError(
                f"--id and --target must be two columns, got {self.id!r} twice."
            )
