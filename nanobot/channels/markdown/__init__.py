"""Markdown as models write it, put as each chat platform shows it well."""
