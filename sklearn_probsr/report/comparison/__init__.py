"""Comparisons: reasons beside SHAP values, as tables, words, pictures and files."""
