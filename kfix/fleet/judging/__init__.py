"""Judges stored clusters: the checks of a live diagnosis, over a case file that reads columns on demand."""
