"""``python -m sklearn_probsr``: the command line."""

import sys

from sklearn_probsr.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
