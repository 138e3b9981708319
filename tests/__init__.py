"""nanobot's tests."""
