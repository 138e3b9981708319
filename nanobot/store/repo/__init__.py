"""The history of the long-term files: a git repository that a person can read with git, and nobody's settings steer."""
