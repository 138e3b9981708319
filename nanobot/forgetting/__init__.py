"""Forgetting: what is meant is worked out along its provenance, shown, and erased everywhere."""
