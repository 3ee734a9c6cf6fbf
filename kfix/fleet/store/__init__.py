"""The fleet store: snapshots of many clusters in Parquet, and one of them judged without loading all of it.

Every module in this package imports pyarrow, so callers import them inside functions.
"""
