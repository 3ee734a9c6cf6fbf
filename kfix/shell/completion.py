"""The words that a shell offers: names that this host already knows. It contacts no cluster and writes nothing.

Topics come from the last stored snapshot of the cluster that the command line names, or of any cluster.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from kfix.core.contexts.pins import Contexts
from kfix.core.documents.opening import read_file, unpacked
from kfix.core.errors import UsageError
from kfix.core.inventory.finding import find_inventory
from kfix.core.inventory.trust import FILE, properties_in
from kfix.core.places import config_home, state_home
from kfix.front.terminal import say_document

#: The shells that typer has a script for, and that a container or a server has.
SHELLS: Final = ("bash", "zsh", "fish")
#: A larger snapshot would take longer to read than a person waits for a word: that of about 40 000 partitions, packed
#: and unpacked.
_LARGEST: Final = 1 << 20
_LARGEST_UNPACKED: Final = 32 << 20


def context_names(environ: Mapping[str, str]) -> Iterable[str]:
    """Returns the names in the inventory, without checking the rest of it."""
    found = find_inventory(environ)
    if found is None:
        return ()
    path = found.path
    if path.is_dir():
        if not (path / FILE).is_file():
            return (name for name, _ in properties_in(path))
        path /= FILE
    from kfix.core.documents.nodes import parse  # noqa: PLC0415 - only for names of clusters

    return tuple(parse(read_file(path, _LARGEST).decode("utf-8"), "inventory").data["clusters"])


def codes() -> Iterable[str]:
    from kfix_diagnostics.catalogue import pages  # noqa: PLC0415 - only for codes

    return (check.code for check in pages())


def runbooks(environ: Mapping[str, str]) -> Iterable[str]:
    """Returns the names of kfix's runbooks and of the user's own, without reading them."""
    from kfix.heal.runbook.catalogue import shipped_dir  # noqa: PLC0415 - only for runbooks

    return (
        path.stem for folder in (shipped_dir(), config_home(environ) / "runbooks") for path in folder.glob("*.yaml")
    )


def runs(environ: Mapping[str, str]) -> Iterable[str]:
    """Returns the ids of the runs of this host, the last one first."""
    return sorted((path.name for path in (state_home(environ) / "runs").iterdir() if path.is_dir()), reverse=True)


def incidents() -> Iterable[str]:
    from kfix.lab import INCIDENTS  # noqa: PLC0415 - only for the lab

    return tuple(INCIDENTS)


def topics(environ: Mapping[str, str], cluster: str) -> Iterable[str]:
    """Returns the topics of the last snapshot of the cluster with this name in the inventory, "" for any cluster."""
    files = sorted(_of_cluster(environ, cluster).glob("*.json.gz"))
    raw = read_file(files[-1], _LARGEST)
    snapshot = json.loads(unpacked(raw, files[-1].name, _LARGEST_UNPACKED))
    return {*snapshot["topic_configs"], *(topic for view in snapshot["views"].values() for topic in view["partitions"])}


def groups(environ: Mapping[str, str], cluster: str) -> Iterable[str]:
    """Returns the groups that earlier snapshots of the cluster have, as `topics` does."""
    return tuple(json.loads(read_file(_of_cluster(environ, cluster) / "memory.json", _LARGEST))["groups"])


def _of_cluster(environ: Mapping[str, str], cluster: str) -> Path:
    """Returns the folder of the stored snapshots. Raises OSError or ValueError if there is none."""
    home = state_home(environ)
    if cluster:
        cluster_id = Contexts(home).pinned(cluster)
        if not cluster_id:
            raise ValueError(cluster)
        from kfix.core.saved.store import SnapshotStore  # noqa: PLC0415 - only for a named cluster

        return SnapshotStore(home).folder(cluster_id) or home
    return max((each for each in (home / "clusters").iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime)


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"{', '.join(SHELLS)}.")],
) -> None:
    """Print the completion script of a shell: bash, zsh or fish.

    For bash: kfix completion bash > ~/.local/share/bash-completion/completions/kfix
    """
    if shell not in SHELLS:
        raise UsageError(f"no completion for {shell!r}", hint=f"one of {', '.join(SHELLS)}")
    from typer._completion_shared import get_completion_script  # noqa: PLC0415 - typer has no public name

    say_document(get_completion_script(prog_name="kfix", complete_var="_KFIX_COMPLETE", shell=shell))
