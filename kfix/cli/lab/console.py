"""What the commands of `kfix lab` share: which lab and process are meant, progress on a terminal, signals, counts."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from kfix.errors import UsageError
from kfix.lab import Counts, Lab
from kfix.lab.workload.recount import recount
from kfix.report.console import console_on
from kfix.report.terminal import say, say_json

Name = Annotated[str | None, typer.Option("--name", help="Which lab; needed only when there are several.")]
Json = Annotated[bool, typer.Option("--json", help="Machine output on standard output.")]


def open_lab(name: str | None) -> Lab:

    if name is None:
        names = Lab.names()
        if len(names) != 1:
            raise UsageError(
                f"which lab? there are {', '.join(names)}" if names else "no lab is up",
                hint="say which with --name" if names else "kfix lab up starts one",
            )
        name = names[0]
    return Lab.open(name)


def numbers(option: str, text: str) -> tuple[int, ...]:

    try:
        return tuple(int(each) for each in text.split(","))
    except ValueError:
        raise UsageError(f"{option} {text!r} is no list of numbers", hint="like 1001,1002,1003") from None


def process_named(word: str) -> tuple[str, int]:
    """Role and number: `zk2` is a ZooKeeper, a number a broker."""
    digits = word.removeprefix("zk")
    if not (digits.isascii() and digits.isdigit()):
        raise UsageError(f"{word!r} names no process of a lab", hint="a broker's id, or zk1, zk2, zk3")
    return "zookeeper" if word.startswith("zk") else "broker", int(digits)


def progress(quiet: bool = False) -> Any:
    """A context that gives a function to tell progress with; it draws on standard error, on a terminal only."""

    @contextmanager
    def telling() -> Iterator[Callable[[str], None]]:
        if quiet or not sys.stderr.isatty():
            yield lambda _: None
            return

        columns = (TimeElapsedColumn(), BarColumn(bar_width=12), TextColumn("{task.description}", markup=False))
        with Progress(*columns, console=console_on(sys.stderr), transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda text: bar.update(task, description=text)

    return telling()


def end_like_ctrl_c() -> None:
    """SIGTERM and a closed terminal end a half-finished `up` as Ctrl-C does: nothing stays behind."""

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
        with progress(quiet=as_json) as tell:
            while load.running:
                now: Counts = load.counts()
                tell(f"sent {now.sent}, acknowledged {now.acknowledged}, received {now.received}, failed {now.failed}")
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
