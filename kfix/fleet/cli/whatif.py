"""`kfix fleet whatif`: what would stop in a fleet if brokers or a rack went down. It reads a stored run."""

import sys
from typing import Annotated

import typer

from kfix.fleet.audits import EngineOptions
from kfix.fleet.cli.inventory import Clusters, OfDate, Owners, RunName, StorePlace, Tags, the_store
from kfix.fleet.cli.spark import Spark, SparkConf, spark_settings
from kfix.fleet.inventory import the_day
from kfix.fleet.report.whatif import exit_code, fleet_whatif_json, print_fleet_whatif
from kfix.fleet.whatif import ChosenClusters, fleet_forecast
from kfix.front.console import console_on
from kfix.front.options import AsJson
from kfix.front.terminal import say_document


def whatif(
    store: StorePlace = None,
    down: Annotated[
        str | None,
        typer.Option(
            "--down", metavar="WHAT", help="One failure: broker=3, broker=3,4 or rack=b. Default: the worst of each."
        ),
    ] = None,
    cluster: Clusters = None,
    tag: Tags = None,
    owner: Owners = None,
    day: OfDate = None,
    run: RunName = None,
    spark: Spark = None,
    spark_conf: SparkConf = None,
    json_output: AsJson = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Clusters shown on the terminal.")] = 20,
) -> None:
    """Forecast what would stop in a fleet if brokers or a rack went down, based on the last run in the store.

    Exit code: 0 nothing stops, 20 something degrades, 21 something stops, 22 unknown: too little was read.
    """
    found = fleet_forecast(
        the_store(store),
        down,
        ChosenClusters(cluster or (), tag or (), owner or ()),
        EngineOptions(spark, settings=spark_settings(spark_conf)),
        day=the_day(day),
        run=run or "",
    )
    if json_output:
        say_document(fleet_whatif_json(found))
    else:
        print_fleet_whatif(found, console_on(sys.stdout), limit)
    raise typer.Exit(exit_code(found))
