"""The audit of a stored run: judge each cluster, compare with the previous audit, score, store and report."""
