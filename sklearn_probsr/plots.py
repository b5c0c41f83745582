"""Pictures of sufficient reasons, where shap's own are not enough.

Every function returns the Axes, draws on ``ax`` if one is given, and shows nothing unless asked
with ``show=True``. Rows that are flagged are left out, and the title says how many. Colours are
shap's: red pushes the decision function up, blue down.
"""

from sklearn_probsr.explain.pictures._curve_lines import curve
from sklearn_probsr.explain.pictures._frequencies import frequency
from sklearn_probsr.explain.pictures._heatmap import reasons_heatmap
from sklearn_probsr.explain.pictures._rule_bars import rules
from sklearn_probsr.explain.pictures._text import text
from sklearn_probsr.explain.pictures._waterfall import waterfall

__all__ = ["curve", "frequency", "reasons_heatmap", "rules", "text", "waterfall"]
