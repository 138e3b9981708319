"""Understanding of texts: words, clauses, dates, requests, secrets, and which words are a person's own."""
