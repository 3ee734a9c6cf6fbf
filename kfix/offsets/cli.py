"""`kfix offsets`: committed offsets saved and restored, and one record saved and skipped by a runbook."""

import os
import re
import shlex
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from kfix import __version__
from kfix.core.args import parse_partition
from kfix.core.errors import UsageError
from kfix.core.saved.record import encode_record, read_record, write_record
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import several, size_text
from kfix.front import completion
from kfix.front.grouped import with_options
from kfix.front.options import ALL, AsJson, PlanOut, PolicyFile, offsets_partition
from kfix.front.reaching import ClusterOptions
from kfix.front.seam import the_app
from kfix.front.terminal import say, say_json
from kfix.heal.cli.plan import apply, plan
from kfix.offsets.offsets import Wanted, encode_offsets, save_from_disks, save_live, write_offsets
from kfix.offsets.saved import saved_lines

_INCOMPLETE = 22
_RUNBOOK, _SKIP = "restore-offsets", "skip-record"


@with_options
def save(
    output: Annotated[Path, typer.Option("--output-file", metavar="FILE", help="Write the offsets to a new file.")],
    reach: ClusterOptions,
    partition: Annotated[
        list[str] | None,
        typer.Option(
            "--partition", metavar="P", help="This partition of __consumer_offsets, by its number (repeatable), or all."
        ),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="GROUP",
            help="Only the offsets of this group (repeatable).",
            autocompletion=completion.groups,
        ),
    ] = None,
    log_dir: Annotated[
        list[Path] | None,
        typer.Option(
            "--log-dir",
            metavar="DIR",
            help="Read this log directory on this machine instead of brokers (repeatable): for a partition that no "
            "broker serves.",
        ),
    ] = None,
    json_output: AsJson = False,
) -> None:
    """Save the committed offsets of an offsets partition from its log. The cluster is not changed.

    Reads from the leader without asking the coordinator; if there is no leader, from the replica with the most records.
    Exit code: 0 everything was saved, 22 the file is incomplete, lacks a named group, or nothing could be read.
    """
    if output.exists():
        raise UsageError(f"{output} exists and is not overwritten", hint="name another file")
    if not output.absolute().parent.is_dir():
        raise UsageError(f"{output}: no such folder", hint="create it first")
    selection = _wanted(partition or [], group or [], disks=bool(log_dir))
    now, access = time.time(), None
    if log_dir:
        if reach.is_given:
            raise UsageError("--log-dir reads this machine's disks: leave out --bootstrap-server, -c and --zookeeper")
        rescued = save_from_disks(log_dir, selection, now)
    else:
        access = reach.access()
        rescued = save_live(access, selection, now)
    write_offsets(rescued.saved, output)
    if json_output:
        say_json(encode_offsets(rescued.saved), indent=2)
    else:
        for line in saved_lines(rescued):
            say(line)
        words = [] if access is None else access.options()
        at = shlex.join(words or ["--bootstrap-server", "HOST:PORT"])
        command = f"kfix offsets restore {shlex.quote(str(output))} {at}"
        say(f"{output}: commit them again with: {command}" if rescued.saved.groups else f"{output}: contains no offset")
    if not rescued.saved.complete:
        raise typer.Exit(_INCOMPLETE)


def _wanted(partitions: list[str], groups: list[str], *, disks: bool) -> Wanted:
    if ALL in partitions and len(partitions) > 1:
        raise UsageError("--partition all excludes others")
    if not partitions and not groups:
        raise UsageError("name what to save: --partition P, --partition all, or --group GROUP")
    if disks and not partitions:
        raise UsageError(
            "--log-dir: name the partitions too, since a disk does not show how many there are",
            hint="--partition P, or --partition all",
        )
    numbers = tuple(offsets_partition(text) for text in partitions if text != ALL)
    return Wanted(numbers, every=ALL in partitions, groups=tuple(groups))


@with_options
def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that kfix offsets save wrote.")],
    reach: ClusterOptions,
    group: Annotated[
        str | None,
        typer.Option(
            "--group", metavar="GROUP", help="Only the offsets of this group.", autocompletion=completion.groups
        ),
    ] = None,
    back: Annotated[
        bool, typer.Option("--back", help="Also replace committed offsets that are newer than the saved ones.")
    ] = False,
    outside: Annotated[
        bool, typer.Option("--outside", help="Also commit offsets outside the log of their partition.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan only; nothing is changed.")] = False,
    output: PlanOut = None,
    policy: PolicyFile = None,
    json_output: AsJson = False,
) -> None:
    """Commit saved offsets again with the runbook restore-offsets: show the plan, ask, commit, and prove.

    Only for groups without members, only if no offset or an older one is committed, and only within the log. With
    --dry-run or --output-file nothing is changed; kfix runbook apply --plan carries a stored plan out.
    """
    params = [f"group={group}"] if group is not None else []
    params += [f"{name}=true" for name, wanted in (("back", back), ("outside", outside)) if wanted]
    wanted = {"param": params, "policy": policy, "offsets": file, "json_output": json_output}
    _planned_or_applied(ctx, reach, _RUNBOOK, wanted, output, dry_run=dry_run)


def _planned_or_applied(
    ctx: typer.Context, reach: ClusterOptions, name: str, wanted: Any, output: Path | None, *, dry_run: bool
) -> None:
    if dry_run or output is not None:
        plan(ctx, name=name, reach=reach, debounce=0.0, output=output, **wanted)
    else:
        apply(ctx, name=name, reach=reach, debounce=0.0, **wanted)


@with_options
def record(
    ctx: typer.Context,
    where: Annotated[str, typer.Argument(metavar="TOPIC-PARTITION@OFFSET", help="The record, such as orders-3@33.")],
    output: Annotated[Path, typer.Option("--output-file", metavar="FILE", help="Write the record to a new file.")],
    reach: ClusterOptions,
    json_output: AsJson = False,
) -> None:
    """Save exactly one record of a partition, its bytes as they are, to a private file. The cluster is not changed.

    Refused where no consumer gets a record: outside the log, compacted away, the end marker of a transaction, or not
    below the last stable offset, because a transaction is open.
    """
    tp, offset = _place(where)
    if os.path.lexists(output):
        raise UsageError(f"{output} exists and is not overwritten", hint="name another file")
    access = reach.access()
    with the_app(ctx).clusters.open(access) as cluster:
        found = cluster.reader.logged_record(tp, offset)
        content = encode_record(found, cluster.reader.identity().id, __version__)
    write_record(content, output)
    if json_output:
        say_json(content, indent=2)
        return
    sizes = f"key {_size(found.key)}, value {_size(found.value)}, {several(len(found.headers), 'header')}"
    say(f"{output}: the record of {tp} at offset {offset}: {sizes}")
    at = shlex.join(access.options() or ["--bootstrap-server", "HOST:PORT"])
    say(f"to skip it for one group: kfix offsets skip {shlex.quote(str(output))} --group GROUP {at}")


def _place(text: str) -> tuple[TopicPartition, int]:
    where, _, number = text.rpartition("@")
    with suppress(ValueError):
        if re.fullmatch(r"[0-9]{1,19}", number) and int(number) < 2**63:
            return parse_partition(where), int(number)
    raise UsageError(f"{text[:300]!r} is not TOPIC-PARTITION@OFFSET", hint="such as orders-3@33")


def _size(part: bytes | None) -> str:
    return "null" if part is None else size_text(len(part))


@with_options
def skip(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that kfix offsets record wrote.")],
    group: Annotated[
        str, typer.Option("--group", metavar="GROUP", help="The consumer group.", autocompletion=completion.groups)
    ],
    reach: ClusterOptions,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan only; nothing is changed.")] = False,
    output: PlanOut = None,
    policy: PolicyFile = None,
    json_output: AsJson = False,
) -> None:
    """Skip one saved record for one group with the runbook skip-record: show the plan, ask, commit, prove.

    Only if the committed offset is still exactly that of the record, and the log still holds it; the group's consumers
    have to be stopped first. With --dry-run or --output-file nothing is changed.
    """
    saved = read_record(file)
    params = [f"group={group}", f"partition={saved.tp}", f"offset={saved.offset}", f"sha256={saved.sha256}"]
    wanted = {"param": params, "policy": policy, "json_output": json_output}
    _planned_or_applied(ctx, reach, _SKIP, wanted, output, dry_run=dry_run)
