"""Every incident of the lab on every line of Kafka where it can happen: made, diagnosed, remedied, proved.

`python -m tests.matrix` runs cells and writes docs/matrix.json, from which docs/matrix.md is rendered.
"""
