"""Models: linear classifiers over features, as exact functions of their floats."""
