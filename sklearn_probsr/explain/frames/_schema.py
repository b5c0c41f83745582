"""Schema: the columns of reasons as a frame, with types that never depend on the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["COLUMNS", "Schema", "check_id"]

# What is told of every row, and as what.
COLUMNS = {
    "prediction": "label",
    "reason": "texts",
    "reason_values": "texts",
    "reason_size": "count",
    "guarantee_lower": "number",
    "guarantee_upper": "number",
    "minimality": "text",
    "size_lower": "count",
    "status": "text",
    "message": "text",
}
# Beside them, of an explainer that may not take all sets, and of one with costs.
_SCOPE = {"scope": "text"}
_COSTS = {"cost": "number", "cost_lower": "number"}
_BEFORE_SCOPE, _BEFORE_COSTS = "minimality", "size_lower"
# The type of each kind in pandas, in Arrow and in Spark. A prediction may be missing, as may the
# minimality: those of a row that is invalid.
_TYPES = {
    "texts": ("object", "list<string>", "ARRAY<STRING>"),
    "text": ("string", "string", "STRING"),
    "count": ("int64", "int64", "BIGINT"),
    "number": ("float64", "double", "DOUBLE"),
    "b": ("boolean", "bool", "BOOLEAN"),
    "i": ("Int64", "int64", "BIGINT"),
    "u": ("Int64", "int64", "BIGINT"),
    "f": ("float64", "double", "DOUBLE"),
    "U": ("string", "string", "STRING"),
    "O": ("object", "string", "STRING"),
}
# Spark's names of Arrow's types, of columns that a user carries along.
_SPARK = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT",
    "uint8": "SMALLINT", "uint16": "INT", "uint32": "BIGINT", "float": "FLOAT",
    "double": "DOUBLE", "string": "STRING", "large_string": "STRING", "binary": "BINARY",
    "date32[day]": "DATE",
}  # fmt: skip


@dataclass(frozen=True)
class Schema:
    """The columns of a frame of reasons.

    Parameters
    ----------
    label : str
        The kind of a prediction: the letter of NumPy's kinds.
    ids : tuple of pairs of str and dtype, default=()
        The columns that are carried along, with their types in pandas.
    priced : bool, default=False
        Whether features have costs, which are then told.
    scoped : bool, default=False
        Whether not all sets are allowed, which is then told.
    """

    label: str
    ids: tuple[tuple[str, Any], ...] = ()
    priced: bool = False
    scoped: bool = False

    @classmethod
    def of(
        cls,
        classes: tuple[Any, ...],
        id_columns: Any = None,
        priced: bool = False,
        scoped: bool = False,
    ) -> Schema:
        """Return the schema for some classes; ``id_columns`` maps names to pandas' types."""
        kinds = {np.asarray(label).dtype.kind for label in classes}
        kind = kinds.pop() if len(kinds) == 1 else "O"
        ids = _checked_ids(id_columns, columns_of(priced, scoped))
        return cls(kind if kind in _TYPES else "O", ids, priced, scoped)

    @property
    def columns(self) -> dict[str, str]:
        """What is told of every row, and as what."""
        return columns_of(self.priced, self.scoped)

    def _types(self, of: int) -> dict[str, str]:
        """Return the types of the columns; 0: in pandas, 1: in Arrow, 2: in Spark."""
        return {
            name: _TYPES[self.label if kind == "label" else kind][of]
            for name, kind in self.columns.items()
        }

    def frame(self, columns: Mapping[str, Any], index: Any) -> Any:
        """Return a frame of what is told, of the types that it always has, without ids."""
        import pandas as pd

        return pd.DataFrame(
            {
                name: pd.Series(columns[name], index=index, dtype=dtype)
                for name, dtype in self._types(0).items()
            },
            index=index,
        )

    def joined(self, parts: Sequence[Any], index: Any) -> Any:
        """Return frames of what is told, behind each other, under an index of their own."""
        import pandas as pd

        whole = pd.concat(parts, ignore_index=True).astype(self._types(0))
        return whole.set_axis(index, axis=0)

    def empty(self, index: Any = None) -> Any:
        """Return a frame of no rows."""
        import pandas as pd

        index = pd.RangeIndex(0) if index is None else index
        found = self.frame({name: [] for name in self.columns}, index)
        for k, (name, dtype) in enumerate(self.ids):
            found.insert(k, name, pd.Series([], index=index, dtype=dtype))
        return found

    def arrow(self) -> Any:
        """Return it as a schema of pyarrow."""
        import pyarrow as pa

        texts = {"list<string>": pa.list_(pa.string())}
        fields = [pa.field(name, _arrow_of(dtype)) for name, dtype in self.ids]
        fields += [
            pa.field(name, texts.get(kind) or pa.type_for_alias(kind))
            for name, kind in self._types(1).items()
        ]
        return pa.schema(fields)

    def spark(self) -> str:
        """Return it as Spark writes a schema."""
        names = {name: _spark_of(name, dtype) for name, dtype in self.ids} | self._types(2)
        return ", ".join(f"{_quoted(name)} {kind}" for name, kind in names.items())


def columns_of(priced: bool, scoped: bool) -> dict[str, str]:
    """Return what is told of every row, and as what."""
    told = {}
    for name, kind in COLUMNS.items():
        told[name] = kind
        if scoped and name == _BEFORE_SCOPE:
            told |= _SCOPE
        if priced and name == _BEFORE_COSTS:
            told |= _COSTS
    return told


def _checked_ids(id_columns: Any, columns: Collection[str]) -> tuple[tuple[str, Any], ...]:
    """Return names and types of columns that are carried along, or say what they must be."""
    if id_columns is None:
        return ()
    if not hasattr(id_columns, "items"):
        raise InvalidInputError(
            "id_columns of a schema must map each name to its type in pandas, as "
            f"X[['customer']].dtypes or {{'customer': 'int64'}} does, got {id_columns!r}."
        )
    ids = tuple(id_columns.items())
    for name, _ in ids:
        check_id(name, columns)
    return ids


def check_id(name: Any, columns: Collection[str]) -> None:
    """Refuse to carry a column along that has the name of another one."""
    if name in columns:
        raise InvalidInputError(
            f"id_columns must not name {name!r}, which is a column of the result. Rename it in X."
        )


def _arrow_of(dtype: Any) -> Any:
    """Return Arrow's type of a column of pandas; objects are texts."""
    import pandas as pd
    import pyarrow as pa

    found = pa.Array.from_pandas(pd.Series([], dtype=dtype)).type
    plain = pa.types.is_null(found) or pa.types.is_large_string(found)
    return pa.string() if plain else found


def _spark_of(name: str, dtype: Any) -> str:
    """Return Spark's type of a column of pandas."""
    found = str(_arrow_of(dtype))
    if found.startswith("timestamp"):
        return "TIMESTAMP" if "tz=" in found else "TIMESTAMP_NTZ"
    if found not in _SPARK:
        raise InvalidInputError(
            f"id_columns: Spark has no type for {name!r}, which is {dtype!s} in pandas. Make it a "
            "text or a number first."
        )
    return _SPARK[found]


def _quoted(name: str) -> str:
    """Return a name as Spark takes it, whatever is in it."""
    plain = name.isidentifier() and name.isascii()
    return name if plain else f"`{name.replace('`', '``')}`"
