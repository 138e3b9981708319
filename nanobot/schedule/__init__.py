"""Schedule of the program's own jobs."""
