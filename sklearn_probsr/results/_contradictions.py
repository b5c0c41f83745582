"""What cannot be true is never returned: a set that is smaller than any set was proved to be."""

from __future__ import annotations

__all__ = ["refuse_less_than_proved"]


def refuse_less_than_proved(found: float, least: float, what: str, which: str) -> None:
    """Raise if a set has or costs less than was proved of all sets like it.

    Parameters
    ----------
    found, least : float
        Of the set, and what was proved to be the least.
    what : str
        What is counted: "size" or "cost".
    which : str
        What kind of set it is.

    Raises
    ------
    RuntimeError
        If both cannot be true.
    """
    if least <= found:
        return
    raise RuntimeError(
        f"{which} was found with a {what} of {found:g}, though it was proved that all have a "
        f"{what} of {least:g} at least. Both cannot be true, so nothing is returned: this is an "
        "error in sklearn-probsr, and not in what was asked. Please report it with the model, the "
        "instance and the arguments."
    )
