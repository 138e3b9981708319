"""Terminals that join the running gateway: its side, and theirs."""
