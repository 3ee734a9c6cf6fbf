"""`kfix offsets`: committed offsets saved from the log of their partition, and restored by a runbook."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from kfix.core.errors import UsageError
from kfix.front import completion
from kfix.front.options import ALL, AsJson, PlanOut, PolicyFile, offsets_partition
from kfix.front.reaching import ClusterOptions, reaches
from kfix.front.terminal import say, say_json
from kfix.heal.cli.plan import apply, plan
from kfix.offsets.offsets import Wanted, encode_offsets, save_from_disks, save_live, write_offsets
from kfix.offsets.saved import saved_lines

_INCOMPLETE = 22
_RUNBOOK = "restore-offsets"


@reaches
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


@reaches
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
    if dry_run or output is not None:
        plan(ctx, name=_RUNBOOK, reach=reach, debounce=0, output=output, **wanted)
    else:
        apply(ctx, name=_RUNBOOK, reach=reach, debounce=0, **wanted)
