"""Looking after a running bot: checks, clock, locks."""
