"""Runs the cells that have no result yet: `python -m tests.security [--again] [--list] [WORD ...]`.

A cell is run if its name contains all words; `--again` also runs those with a result. Each result is written at once,
so an interrupted run is taken up where it ended. Ends with 1 if a cell failed.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kfix.lab import Lab, LabSpec
from kfix.lab.clients.rights import grant
from kfix.lab.definition.protocols import CLUSTER, Right
from tests.cluster.conftest import Kfix
from tests.cluster.remedy import Operator
from tests.places import ROOT
from tests.security.matrix import CELLS, OK, PAGE, RESULTS, STEPS, Cell, page, results, written

#: What an authorizer logs of a refused request, in 2.7.1, 3.9.2 and 4.3.1.
DENIED = ("is Denied Operation", "is Denied operation")
FLEET = "apiVersion: kfix/v1\nkind: Fleet\ndefaults: {{timeout: 15s}}\nclusters:\n  it: {{command_config: {file}}}\n"


class Trial:
    """One cell on its lab."""

    def __init__(self, cell: Cell, lab: Lab, folder: Path) -> None:
        self.cell, self.lab, self.folder = cell, lab, folder
        self.kfix = Kfix(lab, folder / "state")
        self.file = lab.client_files[0]
        sasl = lab.state.spec.sasl
        self.secrets = [lab.state.secret, *([sasl[1]] if sasl else [])]

    def diagnose(self) -> None:
        for file in self.lab.client_files:
            said = self.kfix.run("diagnose", "--json", "--command-config", file)
            assert (said.code, said.json["could_not_read"], said.json["findings"]) == (0, [], []), said.out + said.err
            self.keeps_secrets(said.out + said.err)

    def denials(self) -> str:
        if not self.cell.has_names:
            return "not tried: without client certificates a client has no name"
        lines = [line for line in log_lines(self.lab) if any(word in line for word in DENIED)]
        assert lines == [], lines
        return OK

    def plan_and_apply(self) -> None:
        ann = Operator(self.lab, self.folder, "ann")
        ann.where = ("--command-config", self.file)
        with self.lab.access() as access:
            if self.cell.has_names:
                grant(access.admin(), self.lab.state.spec.principal, [Right("ALTER_CONFIGS", "CLUSTER", CLUSTER)])
            access.write_config("brokers", "7", {"leader.replication.throttled.rate": "1000"})
            planned = ann.plan("sweep-throttles")
            security = planned.plan["cluster"]["security"]
            expected = (self.lab.state.spec.listener, self.cell.mechanism or "")
            assert (security["protocol"], security["mechanism"]) == expected, security
            # Without ZooKeeper a run has no lock for other hosts, and each change is approved by itself.
            said = ann.apply(planned, level="plan" if self.cell.mode == "zk" else "step")
            assert access.configs("brokers").get("7", {}) == {}
        self.keeps_secrets(said.out + said.err)

    def audit(self) -> None:
        fleet = self.folder / "fleet.yaml"
        fleet.write_text(FLEET.format(file=self.file))
        given = ("audit", "-i", fleet, "--store", self.folder / "store", "--run", "r", "--json", "--processes", "1")
        said = self.kfix.run(*given, timeout=120)
        assert said.code in {0, 20}, said.out + said.err
        totals, [it] = said.json["totals"], said.json["clusters"]
        assert (totals["collected"], totals["unknown"], it["collected"], it["brokers"]) == (1, 0, True, 1), it
        self.keeps_secrets(said.out + said.err)

    def watch(self) -> None:
        ring = self.folder / "ring"
        given = ("watch", "--command-config", self.file, "--every", "1", "--until", "healthy", "--within", "40")
        said = self.kfix.run(*given, "--recorder", ring, "--lines", timeout=90)
        assert said.code == 0, said.out + said.err
        assert [each for each in ring.rglob("*") if each.is_file()]
        self.keeps_secrets(said.out + said.err)

    def keeps_secrets(self, text: str) -> None:
        from tests.cluster.securing import holders

        assert not [each for each in self.secrets if each in text]
        assert holders(self.folder, set(self.secrets)) == []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    line = (entry / "cmdline").read_bytes()
                    assert not [each for each in self.secrets if each.encode() in line]


def log_lines(lab: Lab) -> Iterator[str]:
    for log in sorted((lab.store.dir / "logs").glob("*.log")):
        yield from log.read_text(errors="replace").splitlines()


def tried(cell: Cell) -> dict[str, str]:
    """Returns {step: result}."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="kfix-security-") as name:
        os.environ["KFIX_LAB_HOME"] = f"{name}/labs"
        spec = LabSpec(
            name="matrix",
            kafka=cell.kafka,
            mode=cell.mode,
            ids=(7,),
            security=cell.security,
            mechanism=cell.mechanism,
            acls=cell.has_names,
        )
        try:
            lab = Lab.up(spec)
        except Exception as error:  # noqa: BLE001 - whatever failed is the result of the cell
            return dict.fromkeys(STEPS, f"the lab did not start: {error}"[:300])
        try:
            trial = Trial(cell, lab, Path(name, "work"))
            trial.folder.mkdir()
            for step in STEPS:
                found[step] = outcome(getattr(trial, step.replace(" ", "_")))
        finally:
            lab.down()
    return found


def outcome(step: Callable[[], str | None]) -> str:
    try:
        return step() or OK
    except Exception as error:  # noqa: BLE001 - as above
        said = " ".join(str(error).split())
        return f"{type(error).__name__}: {said if len(said) < 400 else '... ' + said[-400:]}"


def main(arguments: list[str]) -> int:
    words = [each for each in arguments if not each.startswith("--")]
    wanted = [each for each in CELLS if all(word in each.name.split() or word == each.name for word in words)]
    if "--list" in arguments:
        sys.stdout.write("\n".join(each.name for each in wanted))
        return 0
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    failed = 0
    for cell in wanted:
        if cell.name in results() and "--again" not in arguments:
            continue
        began = time.monotonic()
        steps = tried(cell)
        bad = {step: said for step, said in steps.items() if said != OK and not said.startswith("not ")}
        failed += bool(bad)
        known = results() | {cell.name: {"steps": steps, "commit": commit, "seconds": round(time.monotonic() - began)}}
        RESULTS.write_text(written(known), encoding="utf-8")
        PAGE.write_text(page(known), encoding="utf-8")
        sys.stdout.write(f"{cell.name:<40} {bad or OK} {time.monotonic() - began:.0f} s\n")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
