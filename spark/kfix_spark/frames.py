"""Rows of the store as DataFrames."""

import re
from typing import Any
from urllib.parse import unquote

from pyspark.sql.functions import coalesce, col
from pyspark.sql.pandas.types import from_arrow_schema

from kfix.fleet.store.stored import StoredRows


def folder_of(place: str) -> str:
    """Returns the folder as Hadoop names it: a path, or a URL without options. Hadoop reads s3:// as s3a://."""
    base = place.partition("?")[0] if "://" in place else place
    base = (unquote(base.removeprefix("file://")) if base.startswith("file://") else base).rstrip("/")
    return f"s3a://{base.removeprefix('s3://')}" if base.startswith("s3://") else base


def files_frame(session: Any, given: StoredRows) -> Any:
    """Reads the files of the wanted runs, with the columns that the table declares."""
    base, start = folder_of(str(given.folder)), len(given.folder.path.rstrip("/")) + 1
    paths = [re.sub(r"([\\\[\]*?{}])", r"\\\1", f"{base}/{file.place.path[start:]}") for file in given.files]
    columns = from_arrow_schema(given.schema)
    # Spark verifies checksums of pages only if it is asked to.
    options = {"basePath": base, "parquet.page.verify-checksum.enabled": "true"}
    rows = session.read.schema(columns).options(**options).parquet(*paths).select(*columns.names)
    if given.renames is None:
        return rows
    # Names that no table has as a column.
    was, name, until, after = (f"renamed {column}" for column in given.renames.column_names)
    names = session.createDataFrame(given.renames).toDF(was, name, until, after).hint("broadcast")
    at = (col(was) == col("cluster")) & (col("day") <= col(until)) & (col("day") > col(after))
    found = rows.join(names, at, "left")
    return found.withColumn("cluster", coalesce(col(name), col("cluster"))).select(*columns.names)
