"""Every runbook that acts on KRaft, carried out on real brokers by processes that die at each record of the journal.

`python -m tests.deaths` runs them and writes docs/killed-runs.json, from which docs/killed-runs.md is rendered.
"""
