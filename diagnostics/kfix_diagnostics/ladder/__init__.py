"""`kfix diagnose --group G`: a ladder of questions about one consumer group. `ladder.py` has their order."""
