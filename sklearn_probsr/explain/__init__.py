"""Explaining estimators: beside shap.Explainer, in a Pipeline, and in model selection."""
