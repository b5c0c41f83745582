"""Trusted models: read from files, and which types such a file may hold unasked."""

from __future__ import annotations

import shlex
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from sklearn_probsr.cli._paths import bearable, check_input
from sklearn_probsr.cli._sound_models import check_sound
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.results.codec import content, deep_size, listed, parsed, refusing

__all__ = ["ALLOWED", "load_model"]

# skops itself trusts scikit-learn's estimators, NumPy's ufuncs and scalar types, and containers.
# These are the other parts of scikit-learn's and NumPy's own that the models which can be explained
# are made of. Each is named in full. A file decides what such a type holds, and may call it with
# arguments of its choice, so none is here that opens a file, imports by name, runs text, or trusts
# indices: no function of NumPy (`numpy.load` is one), no tree, no spline.
_ALLOWED = {
    "numpy": (
        "dtype", "floating", "generic", "inexact", "integer", "number", "signedinteger",
        "unsignedinteger",
    ),
    "sklearn.calibration": (
        "_CalibratedClassifier", "_SigmoidCalibration", "_TemperatureScaling",
    ),
    "sklearn.compose._column_transformer": ("_RemainderColsList", "make_column_selector"),
    "sklearn.feature_selection._mutual_info": ("mutual_info_classif",),
    "sklearn.feature_selection._univariate_selection": ("chi2", "f_classif"),
    "sklearn.metrics._classification": (
        "accuracy_score", "balanced_accuracy_score", "brier_score_loss", "cohen_kappa_score",
        "d2_brier_score", "d2_log_loss_score", "f1_score", "fbeta_score", "hamming_loss",
        "hinge_loss", "jaccard_score", "log_loss", "matthews_corrcoef", "precision_score",
        "recall_score", "zero_one_loss",
    ),
    "sklearn.metrics._ranking": (
        "average_precision_score", "dcg_score", "label_ranking_average_precision_score",
        "ndcg_score", "roc_auc_score", "top_k_accuracy_score",
    ),
    "sklearn.metrics._regression": (
        "d2_absolute_error_score", "explained_variance_score", "max_error",
        "mean_absolute_error", "mean_absolute_percentage_error", "mean_gamma_deviance",
        "mean_poisson_deviance", "mean_squared_error", "mean_squared_log_error",
        "median_absolute_error", "r2_score", "root_mean_squared_error",
        "root_mean_squared_log_error",
    ),
    "sklearn.metrics._scorer": (
        "_CurveScorer", "_MultimetricScorer", "_PassthroughScorer", "_Scorer",
        "negative_likelihood_ratio", "positive_likelihood_ratio",
    ),
    "sklearn.metrics.cluster._supervised": (
        "adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score",
        "fowlkes_mallows_score", "homogeneity_score", "mutual_info_score",
        "normalized_mutual_info_score", "rand_score", "v_measure_score",
    ),
    "sklearn.model_selection._search_successive_halving": (
        "HalvingGridSearchCV", "HalvingRandomSearchCV",
    ),
    "sklearn.model_selection._split": (
        "GroupKFold", "KFold", "LeaveOneOut", "RepeatedKFold", "RepeatedStratifiedKFold",
        "ShuffleSplit", "StratifiedGroupKFold", "StratifiedKFold", "StratifiedShuffleSplit",
        "TimeSeriesSplit",
    ),
    "sklearn.utils._metadata_requests": ("MetadataRequest", "MethodMetadataRequest"),
}  # fmt: skip
ALLOWED = frozenset(f"{module}.{name}" for module, names in _ALLOWED.items() for name in names)

# How a pickle begins from protocol 2 on, and how joblib's compressed ones do.
_PICKLES = (
    *(bytes([0x80, protocol]) for protocol in range(2, 6)),
    *(bytes([0x78, level]) for level in (0x01, 0x5E, 0x9C, 0xDA)),  # zlib
    b"\x1f\x8b",  # gzip
    b"BZh",
    b"\xfd7zXZ",
    b"\x5d\x00\x00",  # lzma
    b'\x04"M\x18',  # lz4
    b"ZF0x",  # joblib of long ago
)
# So many bytes more may be read instead of a part looked at.
_LOOK = 50
_PICKLE_ENDINGS = {".joblib", ".pickle", ".pkl"}


def load_model(path: Path, trust: Iterable[str] = (), trust_pickle: bool = False) -> Any:
    """Return the model in a file.

    Parameters
    ----------
    path : Path
        What `skops.io.dump` wrote; or a pickle, if those are trusted.
    trust : iterable of str, default=()
        Types that it may hold beyond those of scikit-learn and NumPy.
    trust_pickle : bool, default=False
        Whether to run the code in a pickle.

    Warns
    -----
    UserWarning
        If another release of scikit-learn wrote it.
    """
    check_input(path)
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise InvalidInputError(f"{path} is empty.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if zipfile.is_zipfile(path):
            model = _from_skops(path, trust)
        elif trust_pickle or _is_pickle(path, start):
            model = _from_pickle(path, trust_pickle)
        else:
            raise InvalidInputError(
                f"{path} is not a model: neither a skops file nor a pickle. "
                "Save one with skops.io.dump(model, 'model.skops')."
            )
    _tell(path, caught)
    return model


def _is_pickle(path: Path, start: bytes) -> bool:
    """Whether a file seems to be a pickle; those of protocol 0 are known by their name alone."""
    return start.startswith(_PICKLES) or path.suffix.lower() in _PICKLE_ENDINGS


def _from_skops(path: Path, trust: Iterable[str]) -> Any:
    _check_size(path)
    import skops.io

    allowed = {*ALLOWED, *trust}
    with _loading(path):
        unknown = [t for t in skops.io.get_untrusted_types(file=path) if t not in allowed]
    if unknown:
        flags = " ".join(f"--trust {shlex.quote(name)}" for name in unknown)
        raise InvalidInputError(
            f"{path} holds what is not loaded unasked, because it may run code: "
            f"{', '.join(unknown)}. If you trust all of it, add {flags}."
        )
    with _loading(path):
        model = skops.io.load(path, trusted=sorted(allowed))
        check_sound(model)
    return model


def _loading(path: Path) -> AbstractContextManager[None]:
    """Say of a file made by somebody else, which may break in any way, that it is no model."""
    return refusing(f"{path} cannot be loaded as a model")


def _check_size(path: Path) -> None:
    """Refuse an archive that is no model, or unpacks to far more than models do."""
    most = bearable(path)
    with path.open("rb") as file, _loading(path):
        members = listed(file)
        model = "schema.json" in members
        size = deep_size(file, most) if model else 0
        if model and size <= most:
            size = _held(content(file, members["schema.json"]), members)
    if not model:
        raise InvalidInputError(
            f"{path} is a zip archive, but not a model that skops.io.dump wrote."
        )
    if size > most:
        raise InvalidInputError(
            f"{path} takes more than {most:,} bytes unpacked, too much for its size. If you trust "
            "it, save it again without compression, as skops.io.dump does unless told otherwise."
        )


def _held(schema: bytes, members: Mapping[str, zipfile.ZipInfo]) -> int:
    """Return how many bytes a model reads: a member may be named, and a part meant, many times."""
    known: dict[Any, int] = {}

    def visit(value: Any) -> tuple[int, int]:
        """Return bytes that are read, and how many parts are looked at."""
        if isinstance(value, list):
            found = [visit(part) for part in value]
            return sum(read for read, _ in found), 1 + sum(looked for _, looked in found)
        if not isinstance(value, dict):
            return 0, 0
        own, file = value.get("__id__"), value.get("file")
        if isinstance(own, int) and own in known:
            return 0, known[own]
        if isinstance(own, int):
            known[own] = 1
        read, looked = visit([*value.values()])
        if isinstance(file, str) and file in members:
            # As a bytearray, which is made of a list.
            times = 9 if value.get("__loader__") == "BytearrayNode" else 1
            read += times * members[file].file_size
        if isinstance(own, int):
            known[own] = looked
        return read, looked

    read, looked = visit(parsed(schema, "schema.json"))
    return max(read, _LOOK * looked)


def _from_pickle(path: Path, trusted: bool) -> Any:
    if not trusted:
        raise InvalidInputError(
            f"{path} looks like a pickle or joblib file, and loading one can run any code that is "
            "in it. If you made it yourself, add --trust-pickle; better, save the model with "
            "skops.io.dump(model, 'model.skops')."
        )
    import joblib

    with _loading(path):
        return joblib.load(path)


def _tell(path: Path, caught: Iterable[warnings.WarningMessage]) -> None:
    """Say once that releases differ, which scikit-learn says of every step; repeat the rest."""
    from sklearn import __version__
    from sklearn.exceptions import InconsistentVersionWarning

    wrote = set()
    for warning in caught:
        if isinstance(warning.message, InconsistentVersionWarning):
            wrote.add(str(warning.message.original_sklearn_version)[:20])
        else:
            warnings.warn(warning.message, stacklevel=3)
    for version in sorted(wrote):
        warnings.warn(
            f"{path} was written with scikit-learn {version}, and this is {__version__}: it may "
            "decide otherwise here. Fit it again if in doubt.",
            stacklevel=3,
        )
