"""What the commands of `kfix lab` share: the lab and process of a command, progress on a terminal, signals, counts."""

import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from kfix.core.errors import UsageError
from kfix.front.console import console_on
from kfix.front.terminal import say, say_json
from kfix.lab import Counts, Lab
from kfix.lab.workload.recount import recount

Name = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Name of the lab; needed only if there are several.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


PROCESS_HELP = "A broker's id, or zk1, zk2, zk3, or the word controller and its id."
_PROCESS = re.compile(r"(?P<role>zk|(?:(?:broker|zookeeper|controller) )?)(?P<number>[0-9]+)")


def open_lab(name: str | None) -> Lab:

    if name is None:
        names = Lab.names()
        if len(names) != 1:
            raise UsageError(
                f"several labs are up: {', '.join(names)}" if names else "no lab is up",
                hint="choose one with --name" if names else "kfix lab up starts one",
            )
        name = names[0]
    return Lab.open(name)


def numbers(option: str, text: str) -> tuple[int, ...]:

    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError:
        raise UsageError(f"{option} {text!r} is not a list of numbers", hint="like 1001,1002,1003") from None


def process_named(word: str) -> tuple[str, int]:
    """Returns role and number. Raises UsageError.

    `zk2` and `zookeeper 2` are a ZooKeeper server, `controller 100` a controller, `7` and `broker 7` a broker.
    """
    found = _PROCESS.fullmatch(word)
    if found is None:
        raise UsageError(f"{word!r} is not a process of a lab", hint=PROCESS_HELP)
    role = found["role"].strip() or "broker"
    return {"zk": "zookeeper"}.get(role, role), int(found["number"])


def progress(quiet: bool = False) -> Any:
    """Yields a function that reports progress, on standard error and only on a terminal."""

    @contextmanager
    def reporting() -> Iterator[Callable[[str], None]]:
        if quiet or not sys.stderr.isatty():
            yield lambda _: None
            return

        columns = (TimeElapsedColumn(), BarColumn(bar_width=12), TextColumn("{task.description}", markup=False))
        with Progress(*columns, console=console_on(sys.stderr), transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda text: bar.update(task, description=text)

    return reporting()


def end_like_ctrl_c() -> None:
    """Makes SIGTERM and a closed terminal end a half-finished `up` as Ctrl-C does: no process remains."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def print_json(value: Any) -> None:
    say_json(value, indent=2)


def print_recount(lab: Lab, number: int) -> None:

    print_json(asdict(recount(lab, number)))


def watch(load: Any, as_json: bool) -> Counts:

    load.start()
    try:
        with progress(quiet=as_json) as report:
            while load.running:
                now: Counts = load.counts()
                report(
                    f"sent {now.sent}, acknowledged {now.acknowledged}, received {now.received}, failed {now.failed}"
                )
                time.sleep(0.2)
    except KeyboardInterrupt:
        return load.stop()  # type: ignore[no-any-return]
    return load.wait()  # type: ignore[no-any-return]


def show_counts(counts: Counts, group: str | None, as_json: bool) -> None:

    if as_json:
        print_json(asdict(counts) | {"group": group})
        return
    for key, value in asdict(counts).items():
        shown = "unknown" if value is None else ", ".join(value) or "none" if isinstance(value, tuple) else value
        say(f"{key.replace('_', ' '):18} {shown}")
