"""Laws: one model under one distribution, and each instance before it."""
