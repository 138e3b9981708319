"""The search index on disk: derived, and built anew when it is missing or broken."""
