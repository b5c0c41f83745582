"""What is printed of an explanation: a table of its first rows, or the sentence of one."""

import numpy as np
import pandas as pd
import pytest

from sklearn_probsr import LinearModel, SufficientReasonExplainer, Unit, sufficient_reasons
from tests.explained import explainer, explanation, mixed_explanation, tumours


def test_the_first_rows_are_a_table():
    """With the class, the guarantee, the size and the facts, and how many more there are."""
    model = LinearModel([3, 2, -2], threshold=2, feature_names=["job", "home", "debt"])
    found = SufficientReasonExplainer(model, delta=0.9)(np.tile([[1, 1, 0], [0, 0, 1]], (4, 1)))
    assert str(found) == repr(found)
    assert repr(found) == (
        "Reasons of 8 rows with 3 features, delta = 0.9, over uniform completions\n"
        "   class  guarantee  size  facts\n"
        "0  1              1     2  job = 1; home = 1\n"
        "1  0              1     2  job = 0; home = 0\n"
        "2  1              1     2  job = 1; home = 1\n"
        "3  0              1     2  job = 0; home = 0\n"
        "4  1              1     2  job = 1; home = 1\n"
        "… and 3 more."
    )
    assert repr(found[1]) == found.describe(1)
    assert repr(found.reasons) == repr(found)
    assert repr(found[:1]).splitlines()[0].startswith("Reasons of 1 row with 3 features, ")
    assert repr(found[:0]) == (
        "Reasons of 0 rows with 3 features, delta = 0.9, over uniform completions"
    )


def test_rows_are_shown_by_what_they_are_called():
    """And it is told how they are found by place and by label; long facts are cut."""
    lines = repr(explanation()[1:]).splitlines()
    assert [line.split()[0] for line in lines[2:7]] == ["401", "402", "403", "404", "405"]
    assert lines[-1] == "… and 34 more. reasons[0] is reasons.loc[401]."
    assert all(line.endswith("…") for line in lines[2:7])
    assert max(map(len, lines[1:])) <= 100
    assert "reasons[0] is reasons.loc[401]." in explanation()[1:]._repr_html_()
    assert (
        "reasons.loc" not in SufficientReasonExplainer(LinearModel([1.0], 0.5))([[1]])._repr_html_()
    )


def test_a_part_of_the_features_is_printed_as_by_shap():
    """Its values are what it is about."""
    for part in (explanation()[:3, 2:5], explanation()[2, :3], explanation()[2, 4]):
        assert repr(part).startswith(".values =")


@pytest.mark.filterwarnings("ignore:1 of 2 rows:UserWarning")
def test_what_is_the_matter_with_a_row_is_in_its_line():
    """In place of its facts, or before them."""
    X = tumours()[0][400:402].copy()
    X.iloc[1, 2] = np.nan
    assert (
        repr(explainer()(X)).splitlines()[3].split("  ")[-1].strip().startswith("invalid: X must")
    )
    found = SufficientReasonExplainer(LinearModel([1.0, 1.0], 1.5), delta=1.0, exclude=[0])(
        [[1, 1], [0, 0]]
    )
    assert "unreachable: " in repr(found)


def test_what_stands_in_a_cell_stays_in_its_line():
    """Line breaks and signs that turn letters around are written out or left out."""
    model = LinearModel([3, 2], threshold=2, feature_names=["a\nb", "c\u202ed"])
    frame = pd.DataFrame([[1, 1]], columns=["a\nb", "c\u202ed"], index=["x\ny"])
    told = repr(SufficientReasonExplainer(model, delta=0.9)(frame))
    assert len(told.splitlines()) == 4
    assert "\u202e" not in told
    assert repr(mixed_explanation()[:2]).count("\n") == 3


def test_reasons_of_a_model_are_printed_as_a_table_too():
    """No arrays are dumped; a fact with a comma inside is one fact."""
    units = [Unit.binary("job", 0, ("job: none", "job: clerk, senior")), Unit.binary("home", 1)]
    model = LinearModel([1, 1], threshold=2, units=units)
    found = sufficient_reasons(model, [[1, 1], [1, 0]], delta=0.9)
    assert str(found) == (
        "Reasons of 2 rows with 2 features, delta = 0.9, over uniform completions\n"
        "   class  guarantee  size  facts\n"
        "0  1              1     2  job: clerk, senior; home = 1\n"
        "1  0              1     1  home = 0"
    )
    assert repr(found[:0]).startswith("Reasons of 0 rows with 2 features")
