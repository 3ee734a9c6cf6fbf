"""`kfix inspect`: reads the disks of brokers without a broker."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.errors import UsageError
from kfix.core.metadata.copies import inspect_metadata
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.front.console import console_on
from kfix.front.lines import print_lines
from kfix.front.options import AsJson
from kfix.front.plain import PlainConsole
from kfix.front.terminal import say, say_document
from kfix.inspect.inspect import Chosen, Depth, inspect_log_dirs
from kfix.inspect.json_logdir import logdirs_json
from kfix.inspect.logdir import names_lines, print_inspection
from kfix.inspect.metadata_report import metadata_json, metadata_lines


def log_dir(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Log directories of brokers, or folders that contain some.")
    ],
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Only partitions of this topic (repeatable).")
    ] = None,
    partition: Annotated[
        list[str] | None, typer.Option("--partition", metavar="TOPIC-N", help="Only this partition (repeatable).")
    ] = None,
    only_divergent: Annotated[
        bool, typer.Option("--only-divergent", help="Leave out partitions without a difference.")
    ] = False,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--groups",
            metavar="TOPIC-N|all",
            help="List the groups in this partition of __consumer_offsets, or in all of them.",
        ),
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="With --groups: print only the names, one per line.")] = False,
    all_segments: Annotated[
        bool, typer.Option("--all-segments", help="Read every segment, even if it cannot contain another epoch.")
    ] = False,
    check_crc: Annotated[
        bool,
        typer.Option(
            "--check-crc", help="Check the CRC of every batch read, not only of the last one of each segment."
        ),
    ] = False,
    json_output: AsJson = False,
) -> None:
    """Compare log directories: leader epochs, log ends, damage, where replicas diverge and what each would lose.

    Exit code: 0 no difference and no unexpected files, 20 replicas behind or unexpected files, 21 divergent, 22 could
    not be read.
    """
    if names and (not groups or json_output):
        raise UsageError("--names needs --groups, and excludes --json")
    every = "all" in (groups or [])
    chosen = Chosen(
        topics=tuple(topic or ()),
        partitions=tuple(_partition(text, "--partition") for text in partition or ()),
        groups=tuple(_offsets_partition(text) for text in groups or () if text != "all"),
        all_groups=every,
    )
    found = inspect_log_dirs(paths, chosen, Depth(every=all_segments, crc=check_crc))
    if names:
        for line in names_lines(found.groups):
            say(line)
    elif json_output:
        say_document(logdirs_json(found, only_divergent=only_divergent))
    else:
        print_inspection(found, console_on(sys.stdout), only_divergent=only_divergent)
    raise typer.Exit(found.exit_code)


def metadata_log(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Log directories of controllers and brokers, or folders with some."),
    ],
    json_output: AsJson = False,
) -> None:
    """Compare copies of a KRaft cluster's metadata log: the longest, what the others lack, who votes.

    Exit code: 0 no difference, 20 copies behind or unexpected files, 21 divergent, 22 could not be read.
    """
    found = inspect_metadata(paths)
    if json_output:
        say_document(metadata_json(found))
    else:
        print_lines(metadata_lines(found), PlainConsole(sys.stdout))
    raise typer.Exit(found.exit_code)


def _partition(text: str, option: str) -> TopicPartition:
    topic, dash, number = text.rpartition("-")
    if not (dash and topic and number.isascii() and number.isdecimal() and len(number) <= 10):
        raise UsageError(f"{option}: {text!r} is not a partition", hint="use a topic and a number, such as orders-3")
    return TopicPartition(topic, int(number))


def _offsets_partition(text: str) -> TopicPartition:
    found = _partition(text, "--groups")
    if found.topic != OFFSETS_TOPIC:
        raise UsageError(
            f"--groups: {text!r}: groups are stored only in {OFFSETS_TOPIC}", hint=f"{OFFSETS_TOPIC}-3, all"
        )
    return found
