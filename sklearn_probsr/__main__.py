"""``python -m sklearn_probsr``: the command line, or what is missing for it."""

import sys


def main() -> int:
    """Run what was typed, and return the exit code."""
    try:
        from sklearn_probsr.cli.main import main as run
    except ModuleNotFoundError as error:
        print(
            f"Error: {error.name} is not installed. Run: pip install click pyarrow skops",
            file=sys.stderr,
        )
        return 1
    return run()


if __name__ == "__main__":
    sys.exit(main())
