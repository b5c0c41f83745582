"""Coded rows: the codes of adverse decisions as a table, as JSON, and as notices."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.frames._row_index import ByLabel
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.results._places import places
from sklearn_probsr.results.codec import plain_value

__all__ = ["CodedRow", "ReasonCodes"]

_TEMPLATE = """The decision was: {prediction}.

The principal reasons for it are:
{reasons}
"""


@dataclass(frozen=True)
class CodedRow:
    """The codes of one row.

    Attributes
    ----------
    label : object
        What the row is called.
    prediction : label
        The class that it speaks of.
    codes, texts : tuple of str
        In the order of what they say, each once; empty unless the prediction is the adverse one.
    features : tuple of str
        The features that they stand for.
    guarantee : Enclosure or None
        Of exactly these features.
    reaches : bool
        Whether that is proved to reach delta.
    more_needed : int
        How many more features are needed at least, as far as that is proved.
    omitted_principal : str or None
        The feature that falls short of its average the most, if no code stands for it.
    lost : float
        By how much the guarantee would surely be better, had the protected features been allowed.
    statement : str
        What these codes do, in words.
    """

    label: Any
    prediction: Any
    codes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    guarantee: Enclosure | None = None
    reaches: bool = False
    more_needed: int = 0
    omitted_principal: str | None = None
    lost: float = 0.0
    statement: str = ""


class ReasonCodes:
    """The codes of the rows of an explanation; made by `reason_codes`.

    ``codes[i]`` is a ``CodedRow``, of every row of the explanation by its place, and
    ``codes.loc[label]`` by what it is called; only those of the adverse class have codes.

    Parameters
    ----------
    rows : sequence of CodedRow
        One for every row of the explanation.
    adverse : label
        The class whose rows have codes.
    protected : str, default=""
        What was kept out of the search, and whether the model uses it.
    template : str, callable or None, default=None
        What a notice looks like.
    """

    def __init__(
        self,
        rows: tuple[CodedRow, ...],
        adverse: Any,
        protected: str = "",
        template: str | Callable[[CodedRow], str] | None = None,
    ) -> None:
        self.rows, self.adverse, self.protected, self.template = rows, adverse, protected, template

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> CodedRow:
        places(len(self), i)  # says how rows are found by label
        return self.rows[i]

    @property
    def loc(self) -> ByLabel:
        """The rows by what they are called: ``codes.loc["p3"]``."""
        import pandas as pd

        rows = np.empty(len(self.rows), dtype=object)
        rows[:] = self.rows
        return ByLabel(rows, pd.Index([row.label for row in self.rows]))

    def __repr__(self) -> str:
        coded = sum(bool(row.codes) for row in self.rows)
        return f"ReasonCodes(<{len(self)} rows, {coded} with codes of {self.adverse!r}>)"

    def _lines(self) -> list[dict[str, Any]]:
        return [
            {
                "prediction": row.prediction,
                "codes": list(row.codes),
                "texts": list(row.texts),
                "features": list(row.features),
                "guarantee_lower": np.nan if row.guarantee is None else row.guarantee.lower,
                "guarantee_upper": np.nan if row.guarantee is None else row.guarantee.upper,
                "reaches": row.reaches,
                "more_needed": row.more_needed,
                "omitted_principal": row.omitted_principal,
                "statement": row.statement,
            }
            for row in self.rows
        ]

    def to_frame(self) -> Any:
        """Return one line for each row of the explanation, with its index.

        Returns
        -------
        DataFrame
            With columns ``prediction``, ``codes``, ``texts``, ``features`` (lists),
            ``guarantee_lower``, ``guarantee_upper``, ``reaches``, ``more_needed``,
            ``omitted_principal`` and ``statement``. Lists are empty, and guarantees NaN, in rows
            that are not of the adverse class.
        """
        import pandas as pd

        return pd.DataFrame(self._lines(), index=[row.label for row in self.rows])

    def to_json(self) -> str:
        """Return all of it as a JSON text.

        Returns
        -------
        str
        """
        rows = [
            {
                "row": plain_value(row.label),
                **{k: None if v != v else v for k, v in line.items()},  # noqa: PLR0124 (NaN)
                "prediction": plain_value(row.prediction),
            }
            for row, line in zip(self.rows, self._lines(), strict=True)
        ]
        told = {"adverse": plain_value(self.adverse), "protected": self.protected, "rows": rows}
        return json.dumps(told, ensure_ascii=False, indent=1)

    def notice(self, i: int) -> str:
        """Return the text of a notice for a row, without probabilities.

        Parameters
        ----------
        i : int
            The place of the row in the explanation.

        Returns
        -------
        str
        """
        row = self.rows[i]
        if not row.codes:
            why = "no fact that has one speaks for its class."
            if row.prediction != self.adverse:
                own, wanted = plain_value(row.prediction), plain_value(self.adverse)
                why = f"its class is {own!r}, and only rows of {wanted!r} get them."
            raise InvalidInputError(f"row {row.label!r} has no codes: {why}")
        if callable(self.template):
            return self.template(row)
        reasons = "\n".join(
            f"{k}. {text} ({code})"
            for k, (code, text) in enumerate(zip(row.codes, row.texts, strict=True), start=1)
        )
        template = _TEMPLATE if self.template is None else self.template
        return template.format(prediction=row.prediction, reasons=reasons)
