"""Episodes: conversations become numbered summaries in memory/history.jsonl."""
