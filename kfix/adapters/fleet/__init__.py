"""Snapshots of many clusters in Parquet, and the judging of one of them without loading all of it (design: fleet).

Every module here but this one imports pyarrow: whoever needs them imports them late.
"""
