"""Reports: reasons beside SHAP values, as tables, pictures and a page."""
