"""Rows of the store as DataFrames."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from pyspark.sql.pandas.types import from_arrow_schema

from kfix.fleet.engine import StoredRows


def files_frame(session: Any, given: StoredRows) -> Any:
    """Reads the files of the wanted runs, with the columns that the table declares. Hadoop reads s3:// as s3a://."""
    base = given.folder.partition("?")[0] if "://" in given.folder else given.folder
    base = (unquote(base.removeprefix("file://")) if base.startswith("file://") else base).rstrip("/")
    base = f"s3a://{base.removeprefix('s3://')}" if base.startswith("s3://") else base
    paths = [re.sub(r"([\\\[\]*?{}])", r"\\\1", f"{base}/{file.path}") for file in given.files]
    columns = from_arrow_schema(given.schema)
    return session.read.schema(columns).option("basePath", base).parquet(*paths).select(*columns.names)
