"""One cell: an incident is made in a lab, diagnosed, remedied, and its end is proved by kfix and by plain clients."""

from __future__ import annotations

import contextlib
import datetime as dt
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kfix.core.errors import KfixError
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.lab import Lab, LabSpec
from kfix.lab.definition.recipes import KRAFT
from kfix.lab.healing.health import trouble
from kfix.lab.incidents.setup.incident import Broken
from tests.cluster.kraft_healing.conftest import CLEANER
from tests.cluster.remedy import Operator, operating
from tests.cluster.seen import Cluster
from tests.matrix.cases import CASES, CLEANED, PLAIN, QUORUM, RACKS, VOTERS, ZONES, Case
from tests.matrix.remedies import NOT_APPROVED, Mended, NothingToDo, Scene, next_printed
from tests.matrix.results import LINES, Cell, fingerprint
from tests.waiting import wait_until

#: Longer than the time for which an open transaction counts as running.
_DETECTED_SECONDS = 90.0
_PROVED_SECONDS = 90.0
_SETTLED_SECONDS = 30.0
#: A verdict that is none: kfix found something critical, or could not read all.
_NOT_WELL = {21, 22}
#: An internal error; a wrong option or value, or one that is missing.
_NOT_UNDERSTOOD = {1, 2}
_FAULTS = (AssertionError, KfixError, OSError, subprocess.SubprocessError)


def spec_of(line: str, layout: str, *, elr: bool = True) -> LabSpec:
    recipe = LINES[line]
    plain = LabSpec(name=f"matrix-{layout}", kafka=recipe.kafka, mode=recipe.mode, offsets_rf=3, elr=elr)
    if layout in {QUORUM, VOTERS}:
        return replace(plain, controllers=3, dynamic_quorum=layout == VOTERS)
    if layout == RACKS:
        return replace(plain, ids=(1, 2, 3, 4), racks=("a", "a", "b", "b"))
    if layout == ZONES:
        return replace(plain, zones=3, controllers=3) if recipe.mode == KRAFT else replace(plain, zones=3)
    if layout == CLEANED:
        return replace(plain, racks=("a", "b", "c"), settings=CLEANER)
    assert layout == PLAIN
    return replace(plain, racks=("a", "b", "c"))


class Labs:
    """One lab at a time: that of the last cell, while it has the layout that the next one needs and could be mended."""

    def __init__(self) -> None:
        self._lab: Lab | None = None
        self._spec: LabSpec | None = None

    def whole(self, spec: LabSpec) -> Lab:
        """Returns a lab in which nothing is broken."""
        if self._lab is not None and (spec != self._spec or not _is_whole(self._lab)):
            self.down()
        if self._lab is None:
            self._lab, self._spec = Lab.up(spec), spec
        return self._lab

    def down(self) -> None:
        if self._lab is not None:
            self._lab.down()
        self._lab = None


def _is_whole(lab: Lab) -> bool:
    with contextlib.suppress(KfixError, OSError):
        lab.mend()
        with lab.access() as access:
            return trouble(access, lab.broker_ids) == ()
    return False


def run_cell(labs: Labs, line: str, incident: str, *, elr: bool = True) -> Cell:
    """Returns what the run came to; what did not hold is its `failure`. `elr`: with eligible leader replicas, if the
    line has them.
    """
    case = CASES[incident]
    runs = [Cell(line, incident, fingerprint(incident), dt.datetime.now(tz=dt.UTC).date().isoformat())]
    with tempfile.TemporaryDirectory() as folder:
        try:
            lab = labs.whole(spec_of(line, case.layout, elr=elr))
            with operating(lab, Path(folder)) as operator:
                if case.watched:
                    operator.diagnose()
                began = time.monotonic()
                broken = lab.break_(incident, **dict[str, Any](case.options))
                runs.append(replace(runs[-1], made=_since(began)))
                # What came before a failure counts.
                for cell in _healed(runs[-1], case, lab, operator, broken):
                    runs.append(cell)  # noqa: PERF402
        except _FAULTS as error:
            runs.append(replace(runs[-1], failure=f"{type(error).__name__}: {str(error)[-600:]}"))
    return runs[-1]


def _healed(cell: Cell, case: Case, lab: Lab, operator: Operator, broken: Broken) -> Iterator[Cell]:
    scene = Scene(lab, operator, broken)
    asked = tuple(scene.filled(word) for word in case.asked)
    scene = replace(scene, asked=asked)
    began = time.monotonic()
    said, finding = _detected(case, operator, asked)
    codes = sorted({each["code"] for each in said.every if each["severity"] != "info"})
    cell = replace(cell, detected=_since(began), codes=codes)
    if finding is not None:
        cause = finding["cause"] or {}
        cell = replace(
            cell,
            code=finding["code"],
            object=finding["object"],
            cause=cause.get("text", ""),
            confidence=cause.get("confidence", ""),
        )
    yield cell
    _paste_all(scene, said)
    began = time.monotonic()
    for remedy in case.remedies:
        cell = replace(cell, remedies=[*cell.remedies, remedy.carry_out(scene)], remedied=_since(began))
        yield cell
    began = time.monotonic()
    lasts = any(isinstance(remedy, NothingToDo) for remedy in case.remedies)
    if any(isinstance(remedy, Mended) for remedy in case.remedies) and "--group" in asked:
        asked = ()  # the group went with its topic
    proof = [] if lasts else [_well(case, operator, asked)]
    proof += clients(lab, broken)
    yield replace(cell, proof=proof, proved=_since(began))


def _paste_all(scene: Scene, said: Any) -> None:
    """Each command of kfix that a diagnosis prints, as JSON and for people, is understood, and what it needs stands in
    it, except DIR, for which its sentence names the disk. Without a terminal none that changes anything gets past its
    first gate, where it prints how to continue.
    """
    operator, asked = scene.operator, scene.asked
    disk = scene.lab.nodes.disk_of(scene.lab.state, (*scene.broken.dead, *scene.lab.broker_ids)[0])
    printed = {remedy["command"] for each in said.every for remedy in each["remedies"]}
    for_people = operator.on("diagnose", "--verbose", "--debounce", "1", "--restart-grace", "0", *asked)
    printed |= {line.strip().removeprefix("next: ").removeprefix("then: ") for line in for_people.out.splitlines()}
    with contextlib.chdir(operator.folder):  # Some write a file.
        for command in sorted(each for each in printed if each.startswith("kfix ")):
            pasted = operator.paste(command.replace(" DIR", f" {disk}"), timeout=120)
            said_here = f"{command}: {pasted.out}{pasted.err}"
            assert pasted.code not in _NOT_UNDERSTOOD, said_here
            assert pasted.code != NOT_APPROVED or len(next_printed(pasted.err)) == 1, said_here


def _detected(case: Case, operator: Operator, asked: tuple[str, ...]) -> tuple[Any, dict[str, Any] | None]:
    """Diagnoses until a finding names the incident; where none is to be found, until nothing settles any more."""

    def named(said: Any) -> list[dict[str, Any]]:
        return [said.findings[code] for code in case.codes if code in said.findings]

    def detected(said: Any) -> bool:
        return bool(named(said)) if case.codes else said.code == 0

    within = _DETECTED_SECONDS if case.codes else _SETTLED_SECONDS
    said = operator.until(detected, f"one of {case.codes} is found", "--debounce", "1", *asked, within=within)
    return said, next(iter(named(said)), None)


def _well(case: Case, operator: Operator, asked: tuple[str, ...]) -> str:
    """The finding is gone, nothing critical is left, and everything was read."""

    def left(said: Any) -> set[str]:
        return {each["code"] for each in said.every if each["severity"] != "info"}

    def gone(said: Any) -> bool:
        return not (said.code in _NOT_WELL or left(said) & set(case.codes) or (case.whole and said.code))

    asked = ("--debounce", "0", *asked)
    said = operator.until(gone, f"none of {case.codes} is found", *asked, within=_PROVED_SECONDS)
    proof = "healthy" if said.code == 0 else f"no longer found (left: {', '.join(sorted(left(said)))})"
    return f"`kfix diagnose`: {proof}"


def clients(lab: Lab, broken: Broken) -> list[str]:
    """A group reads its offsets, and acks=all reaches every partition that was broken and still exists."""
    with lab.access() as access:
        cluster = Cluster(lab, access)
        proof = []
        if broken.group is not None:
            wait_until(lambda: cluster.works(broken.group), f"group {broken.group} works", 30)
            proof.append("its group works")
        topics = [topic for topic in access.topics() if not topic.startswith("__")]
        for topic in topics:
            for number in access.assignment(topic):
                where = TopicPartition(topic, number)
                wait_until(
                    lambda at=where: access.produce_error(at.topic, at.partition, "all") == "",
                    f"acks=all reaches {where}",
                    30,
                )
        if topics:
            proof.append(f"acks=all reaches {', '.join(sorted(topics))}")
    return proof


def _since(began: float) -> float:
    return round(time.monotonic() - began, 1)
