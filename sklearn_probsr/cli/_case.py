"""Case: the model, the rows and the background that a command was asked about."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn_probsr.cli._features import Features, features_of, take_columns
from sklearn_probsr.cli._files import check_input, load_table
from sklearn_probsr.cli._trusted import load_model
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.model._checks import listing

if TYPE_CHECKING:
    from sklearn_probsr.explain._explainer import SufficientReasonExplainer
    from sklearn_probsr.report.comparison._comparison import Comparison

__all__ = ["Case", "Request", "label_text", "load_case", "split"]


# A number that is written as Python writes it, and that a browser can count with.
_WHOLE = re.compile(r"0|-?[1-9]\d{0,14}", re.ASCII)


@dataclass(frozen=True)
class Request:
    """What a command line says, as it was typed."""

    model: Path
    data: Path
    background: str | None
    independent: bool
    sample: int | None
    delta: float
    target: str | None
    id: str | None
    include: Sequence[str]
    exclude: Sequence[str]
    max_size: int | None
    prove: str
    epsilon: float | None
    present_only: bool
    supporting_only: bool
    cost: Sequence[str]
    drop: Sequence[str]
    sep: str | None
    label: str | None
    versus: str | None
    trust: Sequence[str]
    trust_pickle: bool

    @property
    def uniform(self) -> bool:
        """Whether no rows replace what is unknown."""
        return self.background == "uniform"

    @property
    def background_path(self) -> Path | None:
        """The file of the background, if it is another one than that of the data."""
        return None if self.background is None or self.uniform else Path(self.background)

    @property
    def costs(self) -> dict[str, dict[str, float]]:
        """What features cost, as JSON has it; nothing if nothing is told."""
        told = _costs(self.cost)
        return {} if told is None else {"cost": {name: float(v) for name, v in told.items()}}

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        other = self.background_path
        return [self.model, self.data, *([] if other is None else [other])]


def _costs(told: Sequence[str]) -> dict[str, Decimal] | None:
    """Return what features cost, of texts such as "age=2.5"; None if nothing is told."""
    pairs = (text.rpartition("=") for text in told)
    return {name: Decimal(number) for name, _, number in pairs} or None


@dataclass(frozen=True, eq=False)
class Case:
    """What was asked, with the contents of the files.

    ``ids`` are what the rows are called, as an index, if a column says so.
    """

    request: Request
    model: Any
    features: Features
    background: Any
    truth: Any
    ids: Any
    label: Any
    versus: Any

    @property
    def replacement(self) -> str:
        """What replaces unknown features, in words."""
        if self.request.uniform:
            return "Unknown features are drawn at random, each value as often as another."
        name, n = self.request.background_path or self.request.data, len(self.background)
        rows = f"the {n} rows of {name}" if n > 1 else f"the only row of {name}"
        if self.request.independent:
            return f"Unknown features are replaced, each by itself, from {rows}."
        sample = self.request.sample
        searched = "" if sample is None or sample >= n else f"; sets are searched on {sample:,}"
        return f"Unknown features are replaced, all together, by those of {rows}{searched}."

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Say in terms of the command line what went wrong, and what else can be asked."""
        try:
            yield
        except UnreachableError as error:
            text = str(error).replace("the features in exclude", "those that --exclude names")
            for name in ("present", "supporting"):
                text = text.replace(f"{name}_only=True", f"--{name}-only")
            raise UnreachableError(text.replace("set max_size", "pass --max-size")) from error
        except InvalidInputError as error:
            text = str(error)
            if text.startswith(("include names ", "exclude names ")):
                raise InvalidInputError(f"--{text}") from error
            if not self.request.uniform:
                raise
            raise InvalidInputError(
                f"{error} Or leave --background uniform out: rows replace what is unknown then."
            ) from error

    def explainer(self) -> SufficientReasonExplainer:
        """Return the explainer that answers."""
        from sklearn_probsr.distributions._completions import Background, Marginals
        from sklearn_probsr.explain._explainer import SufficientReasonExplainer

        masker = self.background
        if self.request.independent:
            masker = Marginals.fit(masker)
        elif self.request.sample is not None:
            masker = Background(masker, sample=self.request.sample)
        return SufficientReasonExplainer(
            self.model,
            masker,
            delta=self.request.delta,
            target=self.label,
            versus=self.versus,
            feature_names=self.features.names,
            epsilon=self.request.epsilon,
            include=self.request.include,
            exclude=self.request.exclude,
            max_size=self.request.max_size,
            present_only=self.request.present_only,
            supporting_only=self.request.supporting_only,
            cost=_costs(self.request.cost),
            prove={"yes": True, "no": False}.get(self.request.prove, self.request.prove),
        )

    @property
    def rows(self) -> Any:
        """The rows of the data, under their ids."""
        return self.features.rows if self.ids is None else self.features.rows.set_axis(self.ids)

    def numbered(self, table: Any, rows: Sequence[int]) -> Any:
        """Return a table of some rows with their numbers, and their ids if there are any, first."""
        table.insert(0, "row", list(rows))
        if self.ids is not None:
            named = str(self.ids.name)
            table.insert(1, "id" if named in table.columns else named, self.ids[list(rows)])
        return table

    def compared(self, n: int | None, dependence: bool) -> Comparison:
        """Return the first rows, or all, compared with SHAP."""
        from sklearn_probsr.report.comparison._compare import compare_explained

        explainer = self.explainer()
        return compare_explained(
            explainer,
            self.rows.iloc[:n],
            dependence=dependence,
            y=self._truth(explainer.linear_model.classes, n),
        )

    def _truth(self, classes: Sequence[Any], n: int | None) -> list[Any] | None:
        """Return the true classes of the first rows, if they are known and any is a class."""
        if self.truth is None:
            return None
        own: dict[str | None, Any] = {label_text(label): label for label in classes}
        some = self.truth.iloc[:n]
        gaps = some.isna()
        told = [None if gap else label_text(v) for v, gap in zip(some, gaps, strict=True)]
        return [own.get(text, text) for text in told] if own.keys() & set(told) else None

    def accuracy(self) -> str | None:
        """Say how often the model is right, if the true classes are known."""
        if self.truth is None:
            return None
        known = self.truth.notna().to_numpy()
        true = [label_text(value) for value in self.truth[known]]
        said = [label_text(value) for value in self.features.predictions[known]]
        right = sum(a == b for a, b in zip(true, said, strict=True))
        column = f"the column {self.request.target!r}"
        if not true:
            return f"There are no classes in {column}."
        share = f"{right / len(true):.1%}"
        return f"The model is right on {right} of {len(true)} rows ({share}), by {column}."


def load_case(request: Request, table: Any = None) -> Case:
    """Read the files, the ones first that are read fastest.

    ``table`` are some rows in place of the whole data. What the model says of them is asked only if
    they replace what is unknown.
    """
    if request.uniform and request.independent:
        raise InvalidInputError(
            "--independent is about rows, and --background uniform has none. Leave one of them out."
        )
    if request.sample is not None and (request.uniform or request.independent):
        rival = "--background uniform" if request.uniform else "--independent"
        raise InvalidInputError(
            f"--sample is about rows that replace features together, and {rival} has none. Leave "
            "one of them out."
        )
    _check_rules(request)
    for path in request.inputs:
        if table is None or path != request.data:
            check_input(path)
    whole = table is None
    table, truth, ids = split(request, request.data, table)
    other = request.background_path
    beside = None if other is None else split(request, other, other=True)[0]
    model = load_model(request.model, request.trust, request.trust_pickle)
    label, versus = _classes(model, request)
    taken = [*request.drop, *([] if request.target is None else [request.target])]
    predict = whole or request.background is None
    features = features_of(
        model, table, request.data, request.model, taken, request.id, predict=predict
    )
    _tell_ignored(features, request.data)
    if whole:
        _tell_others(features, request)
    background = None if request.uniform else features.rows
    if beside is not None and other is not None:
        if features.names is not None:  # the model knows no names, so the two files must agree
            beside = _same_columns(beside, other, features.names, request.data)
        background = features_of(model, beside, other, request.model).rows
    if request.independent and features.rows.ndim == 1:
        raise InvalidInputError("--independent is for tables, and the model takes texts.")
    if request.sample is not None and features.rows.ndim == 1:
        raise InvalidInputError("--sample is for tables, and the model takes texts.")
    index = _index(ids) if whole else None
    return Case(request, model, features, background, truth, index, label, versus)


def _check_rules(request: Request) -> None:
    """Refuse what cannot be asked for together, before anything is read."""
    both = [name for name in request.include if name in request.exclude]
    if both:
        raise InvalidInputError(
            f"--include and --exclude must not share features, got {both[0]!r} in both."
        )
    forced = len(set(request.include))
    if request.max_size is not None and forced > request.max_size:
        raise InvalidInputError(
            f"--include forces {forced} feature{'s' if forced > 1 else ''} in, more than "
            f"--max-size {request.max_size}. Raise it, or include fewer."
        )
    if request.id is not None and request.id == request.target:
        raise InvalidInputError(f"--id and --target must be two columns, got {request.id!r} twice.")


def split(
    request: Request, path: Path, table: Any = None, other: bool = False
) -> tuple[Any, Any, Any]:
    """Return the columns that may be features, the true classes, and the ids.

    ``table`` are rows of the file that were read already; ``other`` are rows of the background.
    """
    if table is None:
        table = load_table(path, request.sep, [] if request.id is None else [request.id])
    drop = [name for name in request.drop if not other or name in table.columns]
    table, _ = take_columns(table, drop, path, "--drop")
    found = []
    for name, option in ((request.target, "--target"), (request.id, "--id")):
        column = None
        if name is not None and not (other and name not in table.columns):
            table, taken = take_columns(table, [name], path, option)
            column = taken[name]
        found.append(column)
    return table, *found


def _index(ids: Any) -> Any:
    """Return a column of ids as an index, whole numbers as such; note those that are not unique."""
    import pandas as pd

    if ids is None:
        return None
    index = pd.Index(ids, name=ids.name)
    if all(isinstance(label, str) and _WHOLE.fullmatch(label) for label in index):
        index = pd.Index([int(label) for label in index], name=ids.name)
    n = int(index.duplicated(keep=False).sum())
    if n:
        warnings.warn(
            f"{n} rows share their id in the column {ids.name!r} with another row.", stacklevel=3
        )
    return index


def _same_columns(table: Any, path: Path, names: list[str], data: Path) -> Any:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise InvalidInputError(
            f"{path} must have the columns of {data}, it lacks {listing(missing)}."
        )
    return table[names]


def _tell_ignored(features: Features, path: Path) -> None:
    n = len(features.ignored)
    if n:
        warnings.warn(
            f"{path} has {n} column{'s' if n > 1 else ''} that the model does not know, which "
            f"{'are' if n > 1 else 'is'} ignored: {listing(features.ignored)}.",
            stacklevel=3,
        )


def _tell_others(features: Features, request: Request) -> None:
    """Say that rows are of neither class, where two of several are told apart."""
    if request.versus is None:
        return
    pair = {request.label, request.versus}
    n = sum(label_text(said) not in pair for said in features.predictions)
    if n:
        warnings.warn(
            f"The model calls {n} of {len(features.rows)} rows neither {request.label} nor "
            f"{request.versus}; their reasons say why one of the two rather than the other.",
            stacklevel=3,
        )


def _classes(model: Any, request: Request) -> tuple[Any, Any]:
    """Return the classes to be told apart, as the model has them; None where it has only two."""
    known = list(getattr(model, "classes_", []))
    if request.label is None and request.versus is not None:
        raise InvalidInputError(f"--versus {request.versus} needs a --class to compare with it.")
    if len(known) > 2 and (request.label is None) != (request.versus is None):
        pair = f"--class {label_text(known[1])} --versus {label_text(known[0])}"
        raise InvalidInputError(
            f"{request.model} tells {len(known)} classes apart: {_listing(known)}. Ask for all of "
            f"them, without --class, or for one against another: {pair}."
        )
    if request.label is not None and request.label == request.versus:
        raise InvalidInputError(
            f"--class and --versus must be two classes, got {request.label} twice."
        )
    return _class(known, request.label, "--class"), _class(known, request.versus, "--versus")


def _class(known: list[Any], text: str | None, option: str) -> Any:
    if text is None or not known:
        return text
    for label in known:
        if label_text(label) == text:
            return label
    raise InvalidInputError(f"{option} {text}: the model's classes are {_listing(known)}.")


def _listing(labels: list[Any]) -> str:
    return listing([label_text(label) for label in labels]).replace("'", "")


def label_text(label: Any) -> str:
    """Return a class as one types it; a whole number is one also where others are missing."""
    return f"{label:g}" if isinstance(label, float) and label.is_integer() else str(label)
