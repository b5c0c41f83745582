"""Exchange: which sets of a size must be refuted, so that no set of that size is left.

Independent units, of which some are fixed. Unit i is *above* unit j if fixing i in place of j never
lowers the guarantee. Some best set of every size is then an up-set: with each unit it holds all
that are above it. Two lemmas tell what is above what.

- *Stochastic order*: what i costs exceeds any level at least as likely as what j costs. That is
  decided exactly, on ranks.
- *In context*: most units are in no best set, so their costs are part of every sum. Let W be that
  part and ``h(y) = Pr[W + D_j <= y] - Pr[W + D_i <= y]``. Putting i in place of j changes the
  guarantee by the mean of h(Y), where Y is what the other candidates leave of the margin. By
  Chebyshev's inequality Y is in a band around its mean with probability 1/2 or more, so i is above
  j if h is at least H in the band and at least -H everywhere.

Up-sets are gone through depth first, each bounded by the spectra.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines._jit import inner, kernel
from sklearn_probsr.engines.coins._fourier import sin_cos_turns
from sklearn_probsr.engines.sums._spectrum import Spectrum, copy_nodes, kept_at, multiply, shrink

__all__ = ["Laws", "Scene", "compare", "count_up_sets", "refute", "undominated", "within"]

# Points at which distribution functions are compared, and how many deviations they reach out.
_POINTS = 96
_REACH = 5.5
# How often candidates are compared in context, at most.
_ROUNDS = 3
_MARGIN = 1e-9


class Laws(NamedTuple):
    """What units cost, as far as comparing them goes; atoms are in increasing order of cost.

    ``values`` are ranks, or numbers known to within ``slack`` / 2; ``below`` ranks the probability
    of a cost up to and including the atom.
    """

    starts: NDArray[np.int64]  # (laws + 1,)
    values: NDArray[np.float64]  # (atoms,)
    below: NDArray[np.int64]  # (atoms,)
    slack: float


class Scene(NamedTuple):
    """A row before a spectrum: positions are those in the spectrum's head.

    ``gain`` is how far fixing a unit moves the cut, in turns; ``start`` is where the cut is when
    nothing is fixed.
    """

    gain: NDArray[np.float64]  # (head,)
    variance: NDArray[np.float64]  # (head,)
    forced: NDArray[np.bool_]  # (head,)
    start: float
    blur: float
    positive: bool


@inner
def _costs_more(laws: Laws, i: int, j: int) -> bool:
    """Tell whether ``Pr[D_j <= t] >= Pr[D_i <= t]`` at every t; i's atoms suffice."""
    at = laws.starts[j] - 1
    last = laws.starts[j + 1] - 1
    if laws.values[last] + laws.slack > laws.values[laws.starts[i + 1] - 1]:
        return False
    for a in range(laws.starts[i], laws.starts[i + 1]):
        while at < last and laws.values[at + 1] + laws.slack <= laws.values[a]:
            at += 1
        if at < laws.starts[j] or laws.below[at] < laws.below[a]:
            return False
    return True


@kernel
def undominated(laws: Laws, members: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the positions of members that some up-set of a size can hold: few are above them.

    Members come by decreasing mean cost: only one that comes before another can be above it.
    """
    kept = np.empty(len(members), dtype=np.int64)
    n = 0
    for b in range(len(members)):
        above = 0
        for a in range(b):
            if _costs_more(laws, members[a], members[b]):
                above += 1
                if above >= size:
                    break
        if above < size:
            kept[n] = b
            n += 1
    return kept[:n]


@kernel
def within(laws: Laws, members: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which members are above which that come later: ``[a, b]`` says that a is above b."""
    n = len(members)
    above = np.zeros((n, n), dtype=np.bool_)
    for a in range(n):
        for b in range(a + 1, n):
            above[a, b] = _costs_more(laws, members[a], members[b])
    return above


@inner
def _always_free(
    spectrum: Spectrum, scene: Scene, candidates: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], float, float]:
    """Return the product of what no set fixes, its nodes, the cut, and the variance.

    The cut is that with all candidates fixed.
    """
    h = len(scene.gain)
    chosen = scene.forced.copy()
    for i in range(len(candidates)):
        chosen[candidates[i]] = True
    free = np.empty(h, dtype=np.int64)
    n = 0
    beta = scene.start
    variance = 0.0
    for u in range(h):
        if chosen[u]:
            beta -= scene.gain[u]
        else:
            free[n] = u
            n += 1
            variance += scene.variance[u]
    product = spectrum.rest.copy()
    live = np.arange(len(product))
    kept = shrink(spectrum, product, live, free[:n])
    return product[:kept], live[:kept], beta, variance


@inner
def _band(scene: Scene, candidates: NDArray[np.int64], size: int) -> tuple[float, float]:
    """Return where the cut is with probability 1/2 or more, as a shift from all candidates fixed.

    Freeing a unit moves the cut by its gain, on average. At most ``size + 1`` candidates are not
    free: those of the set, and the one that may replace another of it.
    """
    n = len(candidates)
    total = 0.0
    spread = 0.0
    whole = 0.0
    for i in range(n):
        gain = scene.gain[candidates[i]]
        total += gain
        whole += abs(gain)
        spread += scene.variance[candidates[i]]
    low = total
    high = total
    for i in range(n):
        gain = scene.gain[candidates[i]]
        before = 0  # of those that are further out on the same side
        for j in range(n):
            other = scene.gain[candidates[j]]
            further = other > gain if gain > 0 else other < gain
            before += further or (other == gain and j < i)
        if before <= size:
            low -= max(gain, 0.0)
            high -= min(gain, 0.0)
    reach = math.sqrt(2.0 * spread * (1.0 + _MARGIN)) + _MARGIN * whole
    return low - reach, high + reach


@kernel
def compare(
    spectrum: Spectrum,
    scene: Scene,
    candidates: NDArray[np.int64],
    above: NDArray[np.bool_],
    size: int,
    outside: float,
    work: int,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Compare candidates in context, and leave out those that have too many above them.

    What is left out is free in every set that remains, so the next round knows more. ``outside``
    is the variance of the units that the spectrum has in its rest; candidates whose tables would
    be larger than ``work`` are not compared. Returns the candidates that are left, in an order in
    which nothing comes before what is above it, and what is above what.
    """
    for turn in range(_ROUNDS):
        keys, more = _in_context(spectrum, scene, candidates, size, outside, work)
        n = len(candidates)
        order = np.arange(n)
        if turn == 0:  # this order stays: along one order there are no circles
            _sort(order, keys)
        kept = np.empty(n, dtype=np.int64)
        left = 0
        for b in range(n):
            exceeded = 0
            for a in range(b):
                exceeded += above[order[a], order[b]] or more[order[a], order[b]]
            if exceeded < size:
                kept[left] = order[b]
                left += 1
        grown = np.zeros((left, left), dtype=np.bool_)
        for b in range(left):
            for a in range(b):
                grown[a, b] = above[kept[a], kept[b]] or more[kept[a], kept[b]]
        fewer = np.empty(left, dtype=np.int64)
        for b in range(left):
            fewer[b] = candidates[kept[b]]
        candidates, above = fewer, grown
        if left == n and turn > 0:
            break
    return candidates, above


@inner
def _sort(order: NDArray[np.int64], keys: NDArray[np.float64]) -> None:
    """Sort a short list by increasing keys, stably."""
    for i in range(1, len(order)):
        here = order[i]
        j = i
        while j > 0 and keys[order[j - 1]] > keys[here]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = here


@inner
def _in_context(
    spectrum: Spectrum,
    scene: Scene,
    candidates: NDArray[np.int64],
    size: int,
    outside: float,
    work: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Compare candidates before what is always free.

    Returns how much of the guarantee is kept, at the middle of the band, if a candidate is free (so
    the least comes first in an order), and which candidates are above which.
    """
    n = len(candidates)
    above = np.zeros((n, n), dtype=np.bool_)
    keys = np.zeros(n)
    if n < 2:
        return keys, above
    product, live, beta, variance = _always_free(spectrum, scene, candidates)
    band_low, band_high = _band(scene, candidates, size)
    most = 0.0
    for i in range(n):
        u = candidates[i]
        most = max(most, abs(scene.gain[u]) + math.sqrt(scene.variance[u]))
    reach = _REACH * math.sqrt(variance + outside) + most
    # Within half a turn for every candidate; the arc of the bounds ends there.
    low = max(min(band_low, -reach - beta), -0.499 - beta + most)
    high = min(max(band_high, reach - beta), 0.499 - beta - most)
    if not (low <= band_low and band_high <= high) or n * _POINTS * len(live) > work:
        return keys, above
    step = (high - low) / (_POINTS - 1)
    lower, upper, bend = _tabulate(spectrum, scene, candidates, product, live, beta + low, step)
    # A little more than the band, whatever is rounded.
    first = max(int((band_low - low) / step - 1e-6), 0)
    last = min(int((band_high - low) / step + 1e-6) + 1, _POINTS - 1)
    middle = (first + last) // 2
    loss = step * step / 8.0 * (1.0 + 1e-6)
    for a in range(n):
        keys[a] = lower[a, middle] + upper[a, middle]
        if scene.positive:
            keys[a] = -keys[a]
    for a in range(n):
        for b in range(n):
            if keys[a] < keys[b] or (keys[a] == keys[b] and a < b):
                # a is above b if more is kept with b free than with a free.
                more, less = (a, b) if scene.positive else (b, a)
                slack = loss * (bend[a] + bend[b]) + 1e-13
                above[a, b] = _is_more(lower[more], upper[less], first, last, slack)
    return keys, above


@inner
def _is_more(
    more: NDArray[np.float64], less: NDArray[np.float64], first: int, last: int, slack: float
) -> bool:
    """Tell whether one function exceeds another by more in a band than it falls short anywhere."""
    best = 2.0
    for g in range(first, last + 1):
        best = min(best, more[g] - less[g])
    if best <= slack:
        return False
    # Beyond the ends, distribution functions are between 0 or 1 and what they are there.
    worst = min(0.0, -less[0], more[len(more) - 1] - 1.0)
    for g in range(len(more)):
        worst = min(worst, more[g] - less[g])
    return bool(best - slack >= slack - worst)


@inner
def _tabulate(
    spectrum: Spectrum,
    scene: Scene,
    candidates: NDArray[np.int64],
    product: NDArray[np.float64],
    live: NDArray[np.int64],
    start: float,
    step: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Bound distribution functions along a grid of cuts, each with one candidate free.

    The bounds are trigonometric polynomials: between two points of the grid they are no further
    from their chord than step^2 / 8 times the largest second derivative. That of the difference of
    two is bounded by the sum of what is returned, as a distance from a centre for each.
    """
    n = len(candidates)
    nodes = len(live)
    node = np.empty(nodes)
    for i in range(nodes):
        node[i] = spectrum.node[live[i]]
    sines = np.empty((_POINTS, nodes))
    cosines = np.empty((_POINTS, nodes))
    for g in range(_POINTS):
        for i in range(nodes):
            sines[g, i], cosines[g, i] = sin_cos_turns(node[i] * (start + g * step))
    lower = np.empty((n, _POINTS))
    upper = np.empty((n, _POINTS))
    real = np.empty((n, nodes))
    imaginary = np.empty((n, nodes))
    a_re, a_im = np.empty(nodes), np.empty(nodes)
    b_re, b_im = np.empty(nodes), np.empty(nodes)
    for c in range(n):
        u = candidates[c]
        factor = spectrum.factors[u]
        shift = scene.gain[u]
        offset = 0.5 + start + shift
        # Twice the error of a bound: products are turned once more.
        sway = 1.0 / (spectrum.degree + 1.0) + 2.0 * spectrum.error + spectrum.slope * scene.blur
        for i in range(nodes):
            x, y = factor[live[i], 0], factor[live[i], 1]
            re = product[i, 0] * x - product[i, 1] * y
            im = product[i, 0] * y + product[i, 1] * x
            vaaler, fejer = spectrum.vaaler[live[i]], spectrum.fejer[live[i]]
            offset += vaaler * spectrum.sign[live[i]] * im
            sway += fejer * spectrum.sign[live[i]] * re
            # The cut of this candidate is further by its gain: turn its product back by that.
            sine, cosine = sin_cos_turns(node[i] * shift)
            real[c, i] = re * cosine + im * sine
            imaginary[c, i] = im * cosine - re * sine
            a_re[i], a_im[i] = vaaler * real[c, i], vaaler * imaginary[c, i]
            b_re[i], b_im[i] = fejer * real[c, i], fejer * imaginary[c, i]
        for g in range(_POINTS):
            middle = offset + g * step
            radius = sway
            for i in range(nodes):
                middle += a_re[i] * sines[g, i] - a_im[i] * cosines[g, i]
                radius += b_re[i] * cosines[g, i] + b_im[i] * sines[g, i]
            lower[c, g] = middle - radius
            upper[c, g] = middle + radius
    bend = np.zeros(n)
    for i in range(nodes):
        x = 0.0
        y = 0.0
        for c in range(n):
            x += real[c, i] / n
            y += imaginary[c, i] / n
        turn = 2.0 * math.pi * node[i]
        vaaler, fejer = spectrum.vaaler[live[i]], spectrum.fejer[live[i]]
        for c in range(n):
            away = math.sqrt((real[c, i] - x) ** 2 + (imaginary[c, i] - y) ** 2)
            whole = math.sqrt(real[c, i] ** 2 + imaginary[c, i] ** 2)
            bend[c] += turn * turn * (vaaler * away + fejer * whole)
    return lower, upper, bend


@inner
def _is_over(
    blocked: NDArray[np.int64], position: int, taken: int, size: int, smaller: bool
) -> bool:
    """Tell whether no further member can be taken, or not enough of them."""
    n = len(blocked)
    if taken == size or position == n:
        return True
    if smaller:
        return False
    available = 0
    for j in range(position, n):
        available += blocked[j] == 0
    return taken + available < size


@inner
def _leave(above: NDArray[np.bool_], blocked: NDArray[np.int64], position: int, by: int) -> None:
    """Leave a member (1), so that nothing below it can be taken, or undo that (-1)."""
    for j in range(position + 1, len(blocked)):
        if above[position, j]:
            blocked[j] += by


@kernel
def count_up_sets(above: NDArray[np.bool_], size: int, smaller: bool, cap: int) -> int:
    """Count the up-sets of a size, or of all up to it; not further than beyond a cap.

    Members are in an order in which nothing comes before what is above it.
    """
    n = len(above)
    state = np.zeros(n, dtype=np.bool_)  # whether a member was taken
    blocked = np.zeros(n, dtype=np.int64)
    position, taken = 0, 0
    found = int(smaller or size == 0)
    while found <= cap:
        if not _is_over(blocked, position, taken, size, smaller):
            state[position] = blocked[position] == 0
            if state[position]:
                taken += 1
                found += taken == size or smaller
            else:
                _leave(above, blocked, position, 1)
            position += 1
            continue
        position -= 1
        while position >= 0 and not state[position]:
            _leave(above, blocked, position, -1)
            position -= 1
        if position < 0:
            break
        state[position] = False
        taken -= 1
        _leave(above, blocked, position, 1)
        position += 1
    return found


@inner
def _mark(source: NDArray[np.bool_], target: NDArray[np.bool_]) -> None:
    for i in range(len(source)):
        target[i] = source[i]


class Walk(NamedTuple):
    """The way through the up-sets: what is taken, and what is free because it was left."""

    candidates: NDArray[np.int64]  # (n,)
    above: NDArray[np.bool_]  # (n, n)
    taken: NDArray[np.bool_]  # (n,)
    blocked: NDArray[np.int64]  # (n,): how many of those above were left
    live: NDArray[np.int64]  # (nodes,)
    # The product of what was left before a position is found where ``where`` says.
    stack: NDArray[np.float64]  # (n + 1, nodes, 2)
    where: NDArray[np.int64]  # (n + 1,)
    cut: NDArray[np.float64]  # (n + 1,)
    # The same for all from a position on.
    suffix: NDArray[np.float64]  # (n + 1, nodes, 2)
    shift: NDArray[np.float64]  # (n + 1,)
    trial: NDArray[np.float64]  # (nodes, 2)


@inner
def _walk(
    spectrum: Spectrum, scene: Scene, candidates: NDArray[np.int64], above: NDArray[np.bool_]
) -> Walk:
    """Return a walk at its start."""
    n = len(candidates)
    product, live, beta, _ = _always_free(spectrum, scene, candidates)
    nodes = len(live)
    walk = Walk(
        candidates,
        above,
        np.zeros(n, dtype=np.bool_),
        np.zeros(n, dtype=np.int64),
        live,
        np.empty((n + 1, nodes, 2)),
        np.zeros(n + 1, dtype=np.int64),
        np.empty(n + 1),
        np.empty((n + 1, nodes, 2)),
        np.zeros(n + 1),
        np.empty((nodes, 2)),
    )
    copy_nodes(product, walk.stack[0])
    walk.cut[0] = beta
    for i in range(nodes):
        walk.suffix[n, i, 0] = 1.0
        walk.suffix[n, i, 1] = 0.0
    for p in range(n - 1, -1, -1):
        copy_nodes(walk.suffix[p + 1], walk.suffix[p])
        multiply(walk.suffix[p], spectrum.factors[candidates[p]], live)
        walk.shift[p] = walk.shift[p + 1] + scene.gain[candidates[p]]
    return walk


@inner
def _advance(spectrum: Spectrum, scene: Scene, walk: Walk, position: int, take: bool) -> None:
    """Take the member at a position, or leave it: its factor and gain are part of what follows."""
    walk.taken[position] = take
    if take:
        walk.where[position + 1] = walk.where[position]
        walk.cut[position + 1] = walk.cut[position]
        return
    unit = walk.candidates[position]
    copy_nodes(walk.stack[walk.where[position]], walk.stack[position + 1])
    multiply(walk.stack[position + 1], spectrum.factors[unit], walk.live)
    walk.where[position + 1] = position + 1
    walk.cut[position + 1] = walk.cut[position] + scene.gain[unit]
    _leave(walk.above, walk.blocked, position, 1)


@inner
def _bounds(spectrum: Spectrum, scene: Scene, walk: Walk, position: int) -> tuple[float, float]:
    """Bound the guarantee of what is taken, with all from a position on left free."""
    before = walk.stack[walk.where[position]]
    after = walk.suffix[position]
    for i in range(len(walk.live)):
        walk.trial[i, 0] = before[i, 0] * after[i, 0] - before[i, 1] * after[i, 1]
        walk.trial[i, 1] = before[i, 0] * after[i, 1] + before[i, 1] * after[i, 0]
    beta = walk.cut[position] + walk.shift[position]
    return kept_at(spectrum, walk.trial, walk.live, beta, scene.blur, scene.positive)


@kernel
def refute(
    spectrum: Spectrum,
    scene: Scene,
    candidates: NDArray[np.int64],
    above: NDArray[np.bool_],
    size: int,
    smaller: bool,
    low: float,
    high: float,
    budget: int,
    work: int,
    room: int,
) -> tuple[int, NDArray[np.bool_]]:
    """Bound every up-set of a size (or of all up to it), until one surely reaches the level.

    They may be as many as the budget, and have as many nodes together as the work.

    Returns
    -------
    verdict : int
        1: one was found, and is the only set returned. 0: none but those returned can reach the
        level. -1: they are more than the budget, or more than there is ``room`` for stay open.
    sets : ndarray of bool
    """
    walk = _walk(spectrum, scene, candidates, above)
    sets = np.zeros((room, len(candidates)), dtype=np.bool_)
    allowed = min(budget, work // max(len(walk.live), 1))
    if count_up_sets(above, size, smaller, allowed) > allowed:
        return -1, sets[:0]
    position, taken, kept = 0, 0, 0
    new = smaller or size == 0
    while position >= 0:
        if new:
            lower, upper = _bounds(spectrum, scene, walk, position)
            if upper >= low:
                if lower >= high:
                    _mark(walk.taken, sets[0])
                    return 1, sets[:1]
                if kept == room:
                    return -1, sets[:0]
                _mark(walk.taken, sets[kept])
                kept += 1
        new = False
        if not _is_over(walk.blocked, position, taken, size, smaller):
            take = walk.blocked[position] == 0
            _advance(spectrum, scene, walk, position, take)
            taken += take
            new = take and (taken == size or smaller)
            position += 1
            continue
        # Go back to the last member taken, and leave it.
        position -= 1
        while position >= 0 and not walk.taken[position]:
            _leave(above, walk.blocked, position, -1)
            position -= 1
        if position >= 0:
            taken -= 1
            _advance(spectrum, scene, walk, position, False)
            position += 1
    return 0, sets[:kept]


@kernel
def list_up_sets(above: NDArray[np.bool_], size: int, smaller: bool, cap: int) -> NDArray[np.bool_]:
    """Return the up-sets of a size, or of all up to it, as masks; at most a cap of them.

    Members are in an order in which nothing comes before what is above it.
    """
    n = len(above)
    sets = np.zeros((cap, n), dtype=np.bool_)
    state = np.zeros(n, dtype=np.bool_)  # whether a member was taken
    blocked = np.zeros(n, dtype=np.int64)
    position, taken, found = 0, 0, 0
    new = smaller or size == 0
    while position >= 0 and found < cap:
        if new:
            _mark(state, sets[found])
            found += 1
        new = False
        if not _is_over(blocked, position, taken, size, smaller):
            state[position] = blocked[position] == 0
            if state[position]:
                taken += 1
                new = taken == size or smaller
            else:
                _leave(above, blocked, position, 1)
            position += 1
            continue
        position -= 1
        while position >= 0 and not state[position]:
            _leave(above, blocked, position, -1)
            position -= 1
        if position >= 0:
            state[position] = False
            taken -= 1
            _leave(above, blocked, position, 1)
            position += 1
    return sets[:found]
