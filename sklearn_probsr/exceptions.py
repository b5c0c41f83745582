"""The errors of this package: one small family, all of them ``ValueError``."""

__all__ = ["InvalidInputError", "ProbSRError", "UndecidedError", "UnreachableError"]


class ProbSRError(ValueError):
    """Base class of every error that this package raises on purpose."""


class InvalidInputError(ProbSRError):
    """An argument is not what the function takes; the message says what to pass."""


class UndecidedError(ProbSRError):
    """A yes-or-no answer was asked of an enclosure that does not settle it."""


class UnreachableError(ProbSRError):
    """No set of features allowed by the constraints reaches the asked guarantee."""
