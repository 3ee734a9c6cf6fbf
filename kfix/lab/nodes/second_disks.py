"""A second log directory of a broker, which can fail while the broker runs.

The directory is moved aside and a file has its name: the broker fails when it next writes a checkpoint there, at most
5 s later, and keeps its other log directory. It reads its log directories again only when it starts.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kfix.lab.definition.store import private
from kfix.lab.nodes.brokers import restart_brokers
from kfix.lab.nodes.configs import second_disk

if TYPE_CHECKING:
    from kfix.lab.nodes.handle import LabHandle


def add_disk(lab: LabHandle, broker: int) -> None:
    """Restarts a broker with a second, empty log directory, which the next partitions of the broker are placed in."""
    private(_disk(lab, broker))
    _restart(lab, broker, second=True)


def fail_disk(lab: LabHandle, broker: int) -> None:
    disk = _disk(lab, broker)
    disk.rename(_aside(disk))
    disk.write_text("a file in place of the log directory", encoding="ascii")


def repair_disks(lab: LabHandle) -> tuple[int, ...]:
    """Puts the failed directories back and restarts their brokers; returns these."""
    failed = [each for each in with_two(lab) if _aside(_disk(lab, each)).exists()]
    for broker in failed:
        disk = _disk(lab, broker)
        disk.unlink(missing_ok=True)
        _aside(disk).rename(disk)
    restart_brokers(lab, failed)
    return tuple(failed)


def remove_disks(lab: LabHandle) -> tuple[int, ...]:
    """Restarts the brokers with their first log directory alone; what is in the second is gone. Returns these."""
    brokers = with_two(lab)
    for broker in brokers:
        _restart(lab, broker, second=False)
        shutil.rmtree(_disk(lab, broker), ignore_errors=True)
    return brokers


def with_two(lab: LabHandle) -> tuple[int, ...]:
    return tuple(each.id for each in lab.state.brokers if each.second_disk and not each.retired)


def _restart(lab: LabHandle, broker: int, *, second: bool) -> None:
    old = lab.state.broker(broker)
    assert old is not None
    lab.store.update(lambda state: state.with_broker(replace(old, second_disk=second)))
    restart_brokers(lab, [broker])


def _disk(lab: LabHandle, broker: int) -> Path:
    return second_disk(lab.nodes.disk_of(lab.state, broker))


def _aside(disk: Path) -> Path:
    return disk.with_name(f"{disk.name}.aside")
