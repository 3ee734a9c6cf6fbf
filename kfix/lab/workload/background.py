"""A workload as a process of its own: `python -X kfix.lab.id=ID -m kfix.lab.workload.background PLAN COUNTS`.

It writes its counts to a file once a second, and for the last time when it is done.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kfix.core.errors import LabError
from kfix.core.private import write_private
from kfix.lab.network.faults import zone_of
from kfix.lab.process.host import LOOPBACK, Host

if TYPE_CHECKING:
    from kfix.lab.nodes.handle import LabHandle
    from kfix.lab.workload.workload import WorkloadPlan

_WRITE_SECONDS = 1.0


def counts_file(folder: Path, number: int) -> Path:
    return folder / f"workload-{number}.counts.json"


def acknowledged_file(folder: Path, number: int) -> Path:
    """The acknowledged messages: {topic, run, numbers}. Written when the producer has ended."""
    return folder / f"workload-{number}.acknowledged.json"


def start_in_background(lab: LabHandle, plan: WorkloadPlan, zone: str | None = None) -> int:
    """Starts a workload, optionally inside a zone, and returns its number. `down` ends it with everything else."""
    number = next_number(lab)
    plan_file = lab.store.dir / f"workload-{number}.json"
    write_private(plan_file, json.dumps(asdict(plan)).encode())
    files = (plan_file, counts_file(lab.store.dir, number), acknowledged_file(lab.store.dir, number))
    host = zone_of(lab.store, zone).host() if zone is not None else LOOPBACK
    spawn_workload(lab, number, "kfix.lab.workload.background", *map(str, files), host=host)
    return number


def next_number(lab: LabHandle) -> int:
    return 1 + max((each.id for each in lab.state.processes if each.role == "workload"), default=0)


def spawn_workload(lab: LabHandle, number: int, module: str, *words: str, host: Host = LOOPBACK) -> None:
    """Starts a module with these words. `mend` and `down` end it."""
    # The tag is an -X option: Python keeps it on the command line and ignores it otherwise.
    command = [sys.executable, "-X", f"kfix.lab.id={lab.state.id}", "-m", module, *words]
    lab.nodes.spawn("workload", number, command, host)


def read_counts(lab: LabHandle, number: int) -> dict[str, Any]:
    file = counts_file(lab.store.dir, number)
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise LabError(
            f"workload {number} has no counts yet", hint=f"see {lab.store.log_file('workload', number)}"
        ) from None


def summary(lab: LabHandle, number: int) -> str:
    try:
        counts = read_counts(lab, number)
    except LabError:
        return "no counts yet"
    return ", ".join(f"{key} {counts[key]}" for key in ("sent", "acknowledged", "received", "failed"))


def _write(file: Path, counts: dict[str, Any]) -> None:
    write_private(file, json.dumps(counts).encode())


def main(plan_file: str, counts: str, acknowledged: str) -> None:
    from kfix.lab.workload.workload import Workload, WorkloadPlan  # noqa: PLC0415 - brings the client library

    workload = Workload(WorkloadPlan(**json.loads(Path(plan_file).read_text(encoding="utf-8"))))
    workload.start()
    while workload.running:
        _write(Path(counts), asdict(workload.counts()) | {"done": False})
        time.sleep(_WRITE_SECONDS)
    _write(Path(acknowledged), workload.acknowledged())
    _write(Path(counts), asdict(workload.wait()) | {"done": True})


if __name__ == "__main__":
    main(*sys.argv[1:4])
