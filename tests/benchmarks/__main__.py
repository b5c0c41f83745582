"""Run the benchmarks, print their tables, and fail if a target is missed."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from tests.benchmarks.report import Style, missed

BENCHMARKS = (
    "batch", "paper", "distributions", "naive-bayes", "digits", "rows", "row-batches", "keel",
    "sparse", "matching", "rules", "questions", "prices", "explainer", "agreement", "alone",
    "scaling", "cost", "service", "cold-start",
)  # fmt: skip
# They take long, and run only if they are asked for.
LONG = ("proofs",)
SINGLE_THREAD = (
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", choices=BENCHMARKS + LONG, help="run one benchmark")
    parser.add_argument("--markdown", action="store_true", help="print the page docs/benchmarks.md")
    options = parser.parse_args(arguments)

    # The libraries read this when they are first imported, which the benchmarks do.
    os.environ.update(dict.fromkeys(SINGLE_THREAD, "1"))

    style = Style(markdown=options.markdown)
    print(style.header(), flush=True)
    tables = []
    for name in BENCHMARKS if options.only is None else (options.only,):
        benchmark = import_module(f"tests.benchmarks.{name.replace('-', '_')}")
        for table in benchmark.tables():
            print(style.render(table), flush=True)
            tables.append(table)
    print(style.footer(tables))
    return 1 if missed(tables) else 0


if __name__ == "__main__":
    sys.exit(main())
