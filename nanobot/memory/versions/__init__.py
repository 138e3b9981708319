"""The versions of memory files: a git repository that a person can read with git, and nobody's settings."""
