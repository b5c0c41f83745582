"""Words on what all minimum reasons of a decision share."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sklearn_probsr.results._listed import count, listed
from sklearn_probsr.results._scope import Scope

__all__ = ["shared_words"]

# So many features of which a word stays open are named.
_NAMED = 6


def shared_words(
    names: Sequence[str],
    size: int,
    groups: tuple[Collection[int], Collection[int], Collection[int]] | None,
    scope: Scope,
    *,
    sized: bool = False,
) -> str:
    """Say which features all minimum reasons have, and how many some have; what is open is named.

    Parameters
    ----------
    names : sequence of str
        Of all features.
    size : int
        How many features each reason has.
    groups : tuple of collections of int, or None
        Features in every one, in some, and of which one or the other stays open; None if it is not
        proved that there is no smaller reason.
    scope : Scope
        Which sets were allowed.
    sized : bool, default=False
        Whether to say the size.
    """
    sizes = count(size, "feature")
    if groups is None:
        return (
            f"It is not proved that a reason of {sizes}{scope.words()} is the smallest, so nothing "
            "is said of the others."
        )
    if size == 0:
        return "No other reason has as few features."
    necessary, possible, undecided = groups
    maybe = [u for u in undecided if u in possible]  # no other can be in all of them
    needs = [*(names[u] for u in necessary), *(f"perhaps {names[u]}" for u in maybe)]
    more = len(set(possible) - {*necessary, *maybe})
    others = f"{more or 'no'}{' more' if needs else ''} feature"
    others += " occurs in some" if more == 1 else "s occur in some"
    perhaps = [names[u] for u in undecided if u not in possible]
    if perhaps:
        left = f" and {len(perhaps) - _NAMED} more" if len(perhaps) > _NAMED else ""
        known = f"{others}, and" if more else "in some there is"
        others = f"{known} perhaps {listed(perhaps[:_NAMED])}{left}"
    told = f" ({sizes})" if sized else ""
    needed = listed(needs) or "no feature in particular"
    return f"Every reason of this size{told}{scope.words()} needs {needed}; {others}."
