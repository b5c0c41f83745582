"""Help texts: what the command line and each of its commands say of themselves."""

from __future__ import annotations

__all__ = [
    "ABOUT",
    "COMPARE",
    "COMPARE_EXAMPLES",
    "DEMO",
    "DEMO_EXAMPLES",
    "EXAMPLES",
    "EXPLAIN",
    "EXPLAIN_EXAMPLES",
    "WARM_UP",
]

ABOUT = """\
Which few features settle this decision of a linear classifier, and how sure is
that? Sufficient reasons with a proved probability, beside SHAP values.
"""
EXAMPLES = """\
examples:
  sklearn-probsr demo
  sklearn-probsr compare model.skops test.csv --target y -o report.html
  sklearn-probsr explain model.skops test.csv --row 0

Each command has a --help of its own.
Exit codes: 0 done, 1 something given is wrong, 2 wrong usage, 3 done, but some
rows have no reason, 130 interrupted.
"""
COMPARE = """\
Put the reason of every row beside its SHAP values: how many features must be
shown, and what is lost by stopping at the largest SHAP values.
"""
COMPARE_EXAMPLES = """\
examples:
  sklearn-probsr compare model.skops test.csv
  sklearn-probsr compare model.skops test.csv --target y -o report.html
  sklearn-probsr compare model.skops test.csv --background train.csv -o table.csv
  sklearn-probsr compare model.joblib test.parquet --trust-pickle --rows 100
  sklearn-probsr compare model.skops test.csv --id customer --exclude sex \\
      --max-size 3 -o report.html
"""
EXPLAIN = """\
Say why rows got their class: the few features that settle it, how sure that is,
and what was proved about it. Of a few rows in words, with SHAP values beside;
of many in a table.
"""
EXPLAIN_EXAMPLES = """\
examples:
  sklearn-probsr explain model.skops test.csv --row 0
  sklearn-probsr explain model.skops test.csv --background train.csv --row 3 --row 7
  sklearn-probsr explain model.skops test.csv --target y --row 0 --json
  sklearn-probsr explain model.skops test.csv --id customer -o reasons.csv
  sklearn-probsr explain model.skops data/ --background train.parquet --jobs 4 \\
      -o reasons.parquet
"""
DEMO = """\
Explain a classifier of breast tumours, and write what was found to a folder.
"""
DEMO_EXAMPLES = """\
examples:
  sklearn-probsr demo
  sklearn-probsr demo --output build/demo
"""
WARM_UP = """\
Compile what explanations need, and keep it on disk: in the package if that can be written to, else
below the user's home, or in NUMBA_CACHE_DIR. It takes a while, once; put it into the build of an
image, under the user who will run it."""
