"""Compare with the published algorithm and with the coupled Monte Carlo method."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sklearn_probsr import sufficient_reason, sufficient_reasons
from sklearn_probsr.independent.certainty import Instance
from sklearn_probsr.independent.published import monte_carlo_estimation, paper_sample_size
from tests.benchmarks.cases import DELTA, another, draw
from tests.benchmarks.measure import best_times
from tests.benchmarks.report import Row, Table, at_least, seconds, times


def tables(d: int = 500, epsilon: float = 0.1, gamma: float = 0.01) -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    model, rows = draw(d, 2_000, 0, "sum(w)/2")
    reasons = sufficient_reasons(model, rows, delta=DELTA)
    few = rows[:100]

    def certified() -> None:
        sufficient_reasons(model, rows, delta=DELTA)

    def coupled() -> None:
        sufficient_reasons(
            model,
            few,
            delta=DELTA,
            method="monte-carlo",
            epsilon=epsilon,
            gamma=gamma,
            random_state=0,
        )

    def fresh() -> None:
        sufficient_reason(another(model), rows[0], delta=DELTA)

    coupled()
    instance = Instance(model, rows[0])
    path = bisection(d, int(reasons.size[0]))
    rng = np.random.default_rng(0)
    measured = 200_000 // len(path)
    steps = [_step(instance, middle, measured, rng) for middle in path]
    own, draws, first, *published = best_times(3, certified, coupled, fresh, *steps)
    own, draws = own / len(rows), draws / len(few)
    samples = paper_sample_size(d, epsilon, gamma)
    whole = samples * sum(published) / measured
    yield Table(
        "The published algorithm",
        f"Time per row at d = {d}, delta = {DELTA}, epsilon = {epsilon}, gamma = {gamma}. The "
        f"published algorithm draws {samples:,} completions in each of {len(path)} steps for this "
        "row. That was not run to its end but extrapolated: its vectorized implementation here "
        f"(`method='paper'`) was timed on {measured:,} completions in each step, and the time "
        "multiplied up. The coupled Monte Carlo method (`method='monte-carlo'`) keeps the same "
        "epsilon and gamma (in fact better: it fails with probability gamma, not 3 gamma); the "
        "certified one has neither, since it proves its answer.",
        ("method", "time per row", "faster than published"),
        (
            Row(("published (extrapolated)", seconds(whole), "1x")),
            Row(("coupled Monte Carlo", seconds(draws), times(whole / draws))),
            Row(("certified, fresh model, one row", seconds(first), times(whole / first))),
            Row(
                ("certified, in a batch of 2,000", seconds(own), times(whole / own)),
                *at_least(whole / own, 1e7, "x"),
            ),
            Row(("certified, over coupled Monte Carlo", "", times(draws / own))),
        ),
    )


def bisection(d: int, size: int) -> list[int]:
    """Return the sizes that the published bisection visits when the answer is ``size``."""
    lower, upper, visited = 0, d, []
    while lower != upper:
        visited.append((lower + upper) // 2)
        lower, upper = (lower, visited[-1]) if size <= visited[-1] else (visited[-1] + 1, upper)
    return visited


def _step(
    instance: Instance, size: int, samples: int, rng: np.random.Generator
) -> Callable[[], float]:
    fixed = instance.order[:size].tolist()
    return lambda: monte_carlo_estimation(instance, fixed, samples, rng)
