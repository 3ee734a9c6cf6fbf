"""The options of commands that can run on Spark."""

from typing import Annotated

import typer

from kfix.core.errors import UsageError

Spark = Annotated[
    str | None,
    typer.Option(
        "--spark",
        metavar="MASTER",
        help="local[*], spark://..., yarn, k8s://..., sc://..., submit. Default: a process pool on this machine.",
    ),
]
SparkConf = Annotated[
    list[str] | None, typer.Option("--spark-conf", metavar="KEY=VALUE", help="A Spark setting; may be repeated.")
]


def spark_settings(given: list[str] | None) -> dict[str, str]:
    """Returns the settings of `--spark-conf`. Raises UsageError for one that is not KEY=VALUE."""
    found = {}
    for each in given or ():
        key, mark, value = each.partition("=")
        if not mark or not key.strip():
            raise UsageError(f"--spark-conf: {each!r} is not KEY=VALUE", hint="example: spark.executor.memory=2g")
        found[key.strip()] = value
    return found
