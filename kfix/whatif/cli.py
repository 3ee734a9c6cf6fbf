"""`kfix whatif`: what would stop if brokers went down. It only reads."""

import sys
from typing import Annotated

import typer

from kfix.core.clusters import DiagnoseOptions
from kfix.core.errors import UsageError
from kfix.core.timing import TIMING
from kfix.front.console import console_on
from kfix.front.grouped import with_options
from kfix.front.options import (
    AsJson,
    Debounce,
    FromFiles,
)
from kfix.front.pasting import ask_for_paste
from kfix.front.reaching import ClusterOptions
from kfix.front.seam import the_app
from kfix.front.terminal import say, say_document
from kfix.whatif.forecast import forecast_live, forecast_saved
from kfix.whatif.json_forecast import forecast_json
from kfix.whatif.table import exit_code, print_forecast

_LONGEST = 86_400


@with_options
def whatif(
    ctx: typer.Context,
    reach: ClusterOptions,
    down: Annotated[
        str | None,
        typer.Option(
            "--down",
            metavar="WHAT",
            help="Only this failure: broker=3, broker=3,4, rack=b or controller=1; names its partitions and groups.",
        ),
    ] = None,
    from_files: FromFiles = None,
    debounce: Debounce = TIMING.debounce,
    json_output: AsJson = False,
) -> None:
    """Forecast what would stop if brokers went down: every broker, every rack and every pair, or one failure.

    Exit code: 0 nothing stops, 20 something degrades, 21 something stops, 22 unknown: a source was not read.
    """
    if not 0 <= debounce <= _LONGEST:
        raise UsageError(f"--debounce must be 0 to {_LONGEST} seconds")
    if from_files:
        if reach.is_given:
            raise UsageError("--from reads a saved snapshot; leave out --bootstrap-server, --cluster and --zookeeper")
        ask_for_paste(from_files)
        found = forecast_saved(from_files, down, lambda sentence: say(sentence, err=True))
    else:
        options = DiagnoseOptions(
            debounce=debounce,
            waiting=lambda seconds: say(
                f"some of this may resolve itself: taking a second snapshot in {seconds:.0f} s (--debounce)", err=True
            ),
        )
        access = reach.access()
        found = forecast_live(the_app(ctx), access, down, options)
    if json_output:
        say_document(forecast_json(found))
    else:
        print_forecast(found, console_on(sys.stdout), chosen=down is not None)
    raise typer.Exit(exit_code(found))
