"""The tables of the store in Spark's catalog, so that any SQL of the site finds them by name."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from kfix.core.errors import UsageError
from kfix_spark.frames import folder_of

_SCHEMA: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)


def register(session: Any, schema: str, root: str, tables: Mapping[str, str]) -> None:
    """Creates external tables `schema.name` at these places, unless they exist; nothing is copied.

    Raises UsageError if Spark has no connector for Delta, or a table of that name has another place.
    """
    if not _SCHEMA.fullmatch(schema):
        raise UsageError(f"--catalog: {schema!r} is not a schema", hint="SCHEMA or CATALOG.SCHEMA: letters, digits, _")
    _needs_connector(session, root)
    quoted = ".".join(f"`{part}`" for part in schema.split("."))
    session.sql(f"CREATE SCHEMA IF NOT EXISTS {quoted}")
    for name, place in tables.items():
        wanted = _url(place)
        session.sql(f"CREATE TABLE IF NOT EXISTS {quoted}.`{name}` USING DELTA LOCATION '{_text(wanted)}'")
        rows = session.sql(f"DESCRIBE TABLE EXTENDED {quoted}.`{name}`").collect()
        found = next((row["data_type"] for row in rows if row["col_name"] == "Location"), "")
        if _plain(found) != _plain(wanted):
            raise UsageError(
                f"--catalog: {schema}.{name} is another table, at {found or 'no place'}",
                hint="choose another schema for this store, or drop that table",
            )


def _needs_connector(session: Any, root: str) -> None:
    try:
        _ = session.read.format("delta").load(folder_of(root)).schema
    except (PySparkException, Py4JJavaError) as error:
        # Any other error shows that there is a connector: no table is at the root of a store.
        if "DATA_SOURCE_NOT_FOUND" in str(error) or "delta.DefaultSource" in str(error):
            raise UsageError(
                "--catalog: Spark has no connector for Delta, which the tables in a catalog need",
                hint="docs/spark.md, A catalog: --spark-conf spark.jars.packages=... and two more settings",
            ) from None


def _url(place: str) -> str:
    folder = folder_of(place)
    # Not percent-encoded: Spark reads a location as a path, and encodes it itself.
    return folder if "://" in folder else f"file://{Path(folder).absolute()}"


def _plain(url: str) -> str:
    """Spark writes `file:/path` or `file:///path`."""
    return re.sub(r"^file:/+", "/", url).rstrip("/")


def _text(url: str) -> str:
    return url.replace("\\", "\\\\").replace("'", "\\'")
