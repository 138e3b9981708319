"""Recall: finding what was said and written before, for people who search and for messages that are to be answered.

From a message to the memories that are injected before it:

1. `injection.py`: RecallInjector makes a query of the message (and of the ones before it, where it only asks on).
   With `memory.selection: llm` a model also chooses among the notes.
2. `service.py`: RecallService owns the index and its two threads. It takes in what was just said, and searches.
3. `search.py`: LocalRecall reads the query as a question, expands its terms by synonyms and spellings, and has the
   index give candidates: texts that hold the terms, that are of the days asked for, or that are close in meaning.
4. `ranking.py`: each candidate gets features (BM25 of its own words and of its neighbours', coverage, speaker, day …),
   whose weighed sum is its score. Relevance drops candidates that hold too little of what the message tells.
5. The hits go back to `injection.py`, which leaves out what the model sees anyway, cuts the rest to its room, and
   writes the block that is put before the message.

`nanobot recall`, /recall and the tool of the same name go through RecallService.find, and see all that ranks high.

`index/` is the index on disk, derived from sessions, episodes, notes and memory files: `indexer.py` keeps it in step,
`database.py` holds its tables, `reader.py` answers queries, `vectors.py` knows meanings where a model is installed.
`ports.py` names what these parts exchange: SearchableText, SearchLimits, Hit.
"""
