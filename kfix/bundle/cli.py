"""`kfix bundle`: what others need to help, in one file. It only reads the cluster."""

from pathlib import Path
from typing import Annotated

import typer

from kfix.bundle.bundle import Bundle, manifest_of, packed
from kfix.core.clusters import SnapshotOptions
from kfix.core.diagnosis.finding import CANNOT_TELL
from kfix.core.errors import UsageError
from kfix.core.saved.files import write_whole
from kfix.core.wording import several, size_text
from kfix.diagnose.snapshots import load_snapshot
from kfix.front.grouped import with_options
from kfix.front.reaching import ClusterOptions
from kfix.front.seam import the_app
from kfix.front.terminal import say


@with_options
def bundle(
    ctx: typer.Context,
    output: Annotated[
        Path, typer.Option("--output-file", metavar="FILE", help="A new file; its name ends in .tar.gz.")
    ],
    reach: ClusterOptions,
    from_file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="A saved snapshot instead of the cluster.")
    ] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Replace the names and addresses of hosts by host-1, host-2, ...")
    ] = False,
) -> None:
    """Write one file for asking others: snapshot, diagnosis, runs, versions and settings, without secrets.

    Names of topics, groups and users stay. Exit code: 0, or 22 if a source of the cluster was not read.
    """
    if not output.name.endswith(".tar.gz"):
        raise UsageError(f"--output-file {output}: the name must end in .tar.gz")
    if output.exists():
        raise UsageError(f"{output} exists and is not overwritten", hint="name another file")
    if from_file is not None and reach.is_given:
        raise UsageError("--from reads a saved snapshot; leave out --bootstrap-server, --cluster and --zookeeper")
    app = the_app(ctx)
    access = None if from_file is not None else reach.access()
    if from_file is not None:
        snapshot = load_snapshot(from_file)
    else:
        assert access is not None
        snapshot = app.clusters.snapshot(access, SnapshotOptions(every_log_end=True, keep=False))
    made = Bundle(snapshot, access, app.environ)
    texts, now = made.masked(anonymous=anonymous), app.clock.now()
    manifest = manifest_of(made, texts, snapshot.cluster.id, now, anonymous=anonymous)
    raw = packed(texts, manifest, now)
    write_whole(output, raw)
    for name, text in texts.items():
        say(f"  {name}: {size_text(len(text.encode()))}")
    for sentence in made.left_out:
        say(f"  left out: {sentence}")
    hosts = "names of hosts are replaced" if anonymous else "it names hosts (--anonymous replaces them)"
    say(f"{output}: {several(len(texts) + 1, 'file')}, {size_text(len(raw))}; {hosts}; look at it before you send it")
    if snapshot.failed_sources:
        raise typer.Exit(CANNOT_TELL)
