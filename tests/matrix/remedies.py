"""What a cell of the matrix does about its incident, as an operator would: runbooks, refusals, and acts by hand."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kfix.lab import Lab
from kfix.lab.clients.asking_controllers import set_feature, unregister
from kfix.lab.incidents.setup.incident import Broken
from kfix.lab.nodes.failures import repair_disks, start_on_new_disk
from kfix.lab.workload.readers import start_readers
from tests import shipped
from tests.cluster.recovering import Survivor
from tests.cluster.remedy import TO_APPLY, TO_RESUME, Operator, Planned, Ran
from tests.waiting import wait_until

_ELR = "eligible.leader.replicas.version"
#: The first major version whose brokers report who is registered.
_REPORTED_SINCE = 4
_NOT_REGISTERED = 102
#: What waits for an approval or for a person, and prints the command that continues it.
NOT_APPROVED = 4
#: More than any run of the matrix stops.
_STOPS = 6


@dataclass(frozen=True)
class Scene:
    """A lab in which an incident was made. `asked` are the words with which `kfix diagnose` finds it."""

    lab: Lab
    operator: Operator
    broken: Broken
    asked: tuple[str, ...] = ()

    def filled(self, text: str) -> str:
        """Returns the text with the details of the incident in the place of their names."""
        dead = ",".join(map(str, self.broken.dead))
        return text.format_map({**self.broken.details, "group": self.broken.group, "dead": dead})


class Remedy:
    """Returns from `carry_out` what was done, as the page prints it. Raises AssertionError if it did not work."""

    def carry_out(self, scene: Scene) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class Apply(Remedy):
    """Applies a runbook by the command that a finding prints, and by those that are printed where it stops; where no
    finding offers it, it is planned. Where its run waits for a person, `by_hand` is what that person does.

    `params` are those that a finding prints. `times` come to every command: they shorten what a test waits for.
    """

    runbook: str
    params: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, str] = field(default_factory=dict)
    by_hand: Callable[[Scene], None] | None = None

    def carry_out(self, scene: Scene) -> str:
        params = {name: scene.filled(value) for name, value in self.params.items()}
        if scene.lab.state.spec.recipe.mode not in modes_of(self.runbook):
            said = scene.operator.not_planned(self.runbook, params=params)
            assert "is for clusters of mode" in said, said
            scene.lab.mend()
            return f"runbook `{self.runbook}` is refused: it does not act on this mode"
        if printed := self._printed(scene):
            self._paste(scene, printed)
        else:
            planned = scene.operator.plan(self.runbook, params={**params, **self.times})
            carried_out(scene, planned, self.by_hand)
        if self.by_hand is None:
            return f"runbook `{self.runbook}`"
        return f"runbook `{self.runbook}`, which names the broker to start"

    def _paste(self, scene: Scene, printed: str) -> None:
        """Pastes the command, and each that is printed where the run stops, after what a person has to do there."""
        more = ["--debounce", "1", *(word for name, value in self.times.items() for word in ("-p", f"{name}={value}"))]
        said = scene.operator.paste(printed, *more, timeout=180)
        stops = 0
        while said.code == NOT_APPROVED and stops < _STOPS:
            [printed] = next_printed(said.err)
            if "--did" in printed and self.by_hand is not None:
                self.by_hand(scene)
            said = scene.operator.paste(printed, timeout=180)
            stops += 1
        healed = "PROVED" in said.out or (self.by_hand is not None and "ALREADY HEALTHY" in said.out)
        assert (said.code, healed) == (0, True), said.out + said.err

    def _printed(self, scene: Scene) -> str:
        """Returns the command that the first finding with this runbook prints; empty if none offers it.

        Where a person decides, the finding prints one for each choice: that with these values is returned.
        """
        said = scene.operator.diagnose("--debounce", "1", *scene.asked)
        offered = ([r["command"] for r in each["remedies"] if r["runbook"] == self.runbook] for each in said.every)
        printed = next((commands for commands in offered if any(commands)), [])
        values = {f"{name}={scene.filled(value)}" for name, value in self.params.items()}
        fitting = [command for command in printed if command and values <= set(shlex.split(command))]
        assert bool(fitting) == bool(printed), (printed, values)
        return next(iter(fitting), "")


@dataclass(frozen=True)
class RemoveRegistration(Apply):
    """Before Kafka 4.0, where the runbook is refused, Kafka's own command: a second one reports that it worked."""

    def carry_out(self, scene: Scene) -> str:
        if int(scene.lab.state.spec.recipe.kafka.partition(".")[0]) >= _REPORTED_SINCE:
            return super().carry_out(scene)
        params = {name: scene.filled(value) for name, value in self.params.items()}
        said = scene.operator.not_planned(self.runbook, params=params)
        assert "do not report whether broker" in said, said
        ghost, address = int(params["broker"]), scene.lab.address(scene.lab.broker_ids[0])
        assert [unregister(address, ghost) for _ in range(2)] == [0, _NOT_REGISTERED]
        return f"runbook `{self.runbook}` is refused; by hand: kafka-cluster.sh unregister"


class RecoverQuorum(Apply):
    """The controller that is left is stopped and its disk put aside, before one is made of the copies."""

    def carry_out(self, scene: Scene) -> str:
        survivor = Survivor(scene.lab)
        survivor.stop()
        planned = scene.operator.plan(self.runbook, params=survivor.params)
        carried_out(scene, planned, lambda _: survivor.start())
        return f"runbook `{self.runbook}`, and the start of the controller that is left"


def carried_out(scene: Scene, planned: Planned, by_hand: Callable[[Scene], None] | None) -> None:
    """Applies a plan to its proof by the commands that kfix prints. Where its run waits for a person, it is interrupted
    there and resumed; `by_hand` is what that person does.
    """
    operator = scene.operator
    if by_hand is None:
        operator.finish_as_printed(planned.command)
        return
    going = operator.begin_as_printed(planned.command)
    run = operator.ran(planned)
    wait_until(lambda: waits_for_a_person(run) or run.end, "the run waits for a person, or ends", 60)
    going.interrupt()
    said = going.over()
    resume = TO_RESUME.search(said.out + said.err)
    assert resume, said.out + said.err
    going = operator.begin_as_printed(resume[0])
    wait_until(lambda: waits_for_a_person(run, 2) or going.ended, "the run waits again, or ends", 60)
    by_hand(scene)
    said = going.over(120)
    assert (said.code, run.end) == (0, "proved"), said.out + said.err


def next_printed(text: str) -> list[str]:
    """Returns the commands that a stop prints to continue."""
    return [found.strip() for pattern in (TO_APPLY, TO_RESUME) for found in pattern.findall(text)]


def modes_of(runbook: str) -> frozenset[str]:
    return frozenset(mode.value for mode in shipped.runbook(runbook).metadata.modes)


def waits_for_a_person(run: Ran, times: int = 1) -> bool:
    steps = json.loads((run.path / "plan.json").read_text())["steps"]
    manual = {step["id"] for step in steps if step["action"].partition(".")[0] == "manual"}
    return sum(record["step"] in manual for record in run.of("step.waiting")) >= times


@dataclass(frozen=True)
class Refused(Remedy):
    """A runbook must not be planned now. Its refusal has these words; with `anything` it may have nothing to do."""

    runbook: str
    words: str = ""
    anything: bool = False

    def carry_out(self, scene: Scene) -> str:
        said, path = scene.operator.planning(self.runbook)
        assert not path.exists(), f"{self.runbook} was planned: {said.out}"
        if said.code == 0 and self.anything and "nothing to do" in said.out:
            return f"runbook `{self.runbook}` has nothing to do"
        assert said.code != 0, said.out
        assert self.anything or self.words in said.out + said.err, said.out + said.err
        return f"runbook `{self.runbook}` is refused"


@dataclass(frozen=True)
class ByHand(Remedy):
    """What the finding tells an operator to do, for which kfix has no runbook."""

    what: str
    act: Callable[[Scene], None]

    def carry_out(self, scene: Scene) -> str:
        self.act(scene)
        return f"by hand: {self.what}"


@dataclass(frozen=True)
class Mended(Remedy):
    """What the finding tells an operator to do, which the lab's `mend` does here."""

    what: str

    def carry_out(self, scene: Scene) -> str:
        scene.lab.mend()
        return f"by hand: {self.what} (here the lab's `mend`)"


@dataclass(frozen=True)
class NothingToDo(Remedy):
    why: str

    def carry_out(self, scene: Scene) -> str:
        return f"none: {self.why}"


@dataclass(frozen=True)
class SkipRecord(Remedy):
    """Saves and skips the record that a group stands at, by the commands of the finding; the consumers are stopped
    and started when the run asks for it.
    """

    def carry_out(self, scene: Scene) -> str:
        operator, lab, group = scene.operator, scene.lab, scene.broken.group
        assert group is not None
        found = operator.on("diagnose", "--json", "--group", group).json["findings"]
        printed = [r["command"] for each in found for r in each["remedies"]]
        save, skip = (
            next((c for c in printed if c.startswith(f"kfix offsets {word}")), "") for word in ("record", "skip")
        )
        assert skip, found
        name = shlex.split(skip)[3]
        record, path = operator.folder / f"saved-{name}", operator.folder / f"plan-{name}"
        for command, more in ((save, ()), (skip, ("--output-file", path))):
            said = operator.paste(command.replace(name, str(record)), *more)
            assert said.code == 0, said.out + said.err
        planned = Planned(path, json.loads(path.read_text()), TO_APPLY.findall(said.out)[0].strip())
        going = operator.begin_as_printed(planned.command)
        run = operator.ran(planned)
        wait_until(lambda: run.waits_for("stop-consumers") or going.ended, "it asks to stop the consumers", 60)
        for process in lab.state.processes:
            if process.role == "workload":
                lab.kill(process.id, "workload")
        wait_until(lambda: run.waits_for("start-consumers") or going.ended, "it asks to start them", 60)
        start_readers(lab, scene.broken.partitions[0][0], group, str(scene.broken.details["cause"]))
        said = going.over(120)
        assert (said.code, run.end) == (0, "proved"), said.out + said.err
        lab.mend()  # Ends the consumers: the group then has no members, as the clients' proof needs it.
        return "runbook `skip-record`, with the record that was saved"


def raise_quota(scene: Scene) -> None:
    with scene.lab.access() as access:
        access.set_quota(str(scene.broken.details["client"]), 10_000_000)


def start_brokers(scene: Scene) -> None:
    scene.lab.restart(*scene.broken.dead)


def start_controllers(scene: Scene) -> None:
    scene.lab.restart(*dead_controllers(scene.lab), role="controller")


def start_with_a_new_disk(scene: Scene) -> None:
    """The controller whose disk is lost follows as an observer, with an empty disk that was formatted to join."""
    quorum, number = scene.lab.quorum, int(scene.broken.details["killed"])
    assert quorum is not None
    start_on_new_disk(scene.lab, number)
    wait_until(lambda: quorum.directory_of(number) in quorum.observers(), "it follows as an observer", 60)


def continue_controller(scene: Scene) -> None:
    for process in scene.lab.status().processes:
        if process.role == "controller" and process.condition == "stopped":
            scene.lab.cont(process.id, "controller")


def heal_network(scene: Scene) -> None:
    scene.lab.heal()


def downgrade_eligible_leaders(scene: Scene) -> None:
    address = scene.lab.address(int(scene.broken.details["last_known"]))
    assert set_feature(address, _ELR, 0) == 0
    scene.lab.restart(*scene.broken.dead)
    assert set_feature(address, _ELR, 1) == 0


def raise_eligible_leaders(scene: Scene) -> None:
    assert set_feature(scene.lab.address(scene.lab.broker_ids[0]), _ELR, 1) == 0


def repair_log_dir(scene: Scene) -> None:
    assert repair_disks(scene.lab) == (scene.broken.details["broker"],)


def dead_controllers(lab: Lab) -> list[int]:
    return [each.id for each in lab.status().processes if each.role == "controller" and each.condition == "dead"]
