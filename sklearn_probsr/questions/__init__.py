"""Questions: what else can be asked of one decision, beside its reason."""
