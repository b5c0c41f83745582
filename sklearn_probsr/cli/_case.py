"""Case: the model, the rows and the background that a command was asked about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn_probsr.cli._table_features import Features
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError

if TYPE_CHECKING:
    from sklearn_probsr.explain._explainer import SufficientReasonExplainer
    from sklearn_probsr.report.comparison._comparison import Comparison
from sklearn_probsr.cli._class_labels import label_text
from sklearn_probsr.cli._request import Request

__all__ = ["Case"]


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
        rows = f"the {n:,} rows of {name}" if n > 1 else f"the only row of {name}"
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

        masker = "uniform" if self.request.uniform else self.background
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
            cost=self.request.costs,
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
