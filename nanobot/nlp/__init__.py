"""What texts say: words, clauses, dates, wishes, secrets, and which words are a person's own."""
