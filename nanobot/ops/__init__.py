"""Looking after a running bot: checks, clock, health, logs, restarts, and the line to it."""
