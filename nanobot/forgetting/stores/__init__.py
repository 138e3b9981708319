"""Forgetting on disk: what each store keeps is found, and rewritten without it."""
