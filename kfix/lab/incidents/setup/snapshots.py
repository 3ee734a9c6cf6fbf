"""A snapshot that the lab keeps: what a site that runs kfix from cron would have from before the incident."""

from pathlib import Path

from kfix.core.collect.collector import collect
from kfix.core.collect.options import CollectOptions
from kfix.core.saved import files
from kfix.core.target import make_target
from kfix.lab.nodes.handle import LabHandle

_SECONDS = 5.0


def save_snapshot(lab: LabHandle, name: str) -> Path:
    """Saves a snapshot with the log ends of all partitions in the lab's folder and returns its path."""
    target = make_target(lab.bootstrap_servers, None, None, _SECONDS)
    path = lab.store.dir / f"{name}.json"
    path.unlink(missing_ok=True)
    files.save(collect(target, CollectOptions(every_log_end=True)), path)
    return path
