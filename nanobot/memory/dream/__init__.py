"""Dream: what happened becomes what is known."""
