# A package, so that tests share code by `from tests.oracle import ...`. It is found because
# pyproject.toml puts its own directory on pytest's path: the repository here, and for the wheel
# (.ci/run) a directory that holds only pyproject.toml and a copy of tests.
