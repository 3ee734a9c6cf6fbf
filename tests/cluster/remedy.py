"""An operator without a terminal: plans into a file, reads its id and phrases, applies with exactly those."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kfix.heal.journal.journal import read_back
from tests.cluster.conftest import KFIX, Kfix, Said
from tests.waiting import seconds, wait_until

TO_APPLY, TO_RESUME = (
    re.compile(rf"kfix runbook {words} [^\n]*?(?=   |$)", re.MULTILINE) for words in ("apply --plan", "resume")
)
DYING = Path(__file__).with_name("dying.py")
# A shell's background jobs ignore Ctrl-C, and would hand that down to every command that is to be interrupted.
signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Planned:
    """A plan as it lies in its file."""

    path: Path
    plan: dict[str, object]
    #: The command that `runbook plan` prints to carry it out; empty for one that was not planned so.
    command: str = ""

    @property
    def short(self):
        return self.plan["plan_id"][:8]

    @property
    def ids(self):
        return [step["id"] for step in self.plan["steps"]]

    @property
    def gates(self):
        return {step["id"]: step["gate"] for step in self.plan["steps"]}

    def steps(self, action):
        return [step for step in self.plan["steps"] if step["action"] == action]

    def replicas(self):
        """{partition: replicas} of all moves, in their order."""
        return {s["args"]["partition"]: tuple(s["args"]["replicas"]) for s in self.steps("reassign.move")}

    def answers(self, level, typed):
        said = ["--approve", f"{level}:{self.short}"] if level else []
        for step in self.plan["steps"]:
            if typed and step["gate"] == "typed":
                said += ["--ack", f"{step['id']}={step['phrase']}"]
        return said


@dataclass(frozen=True)
class Ran:
    """A run as it lies on the disk."""

    path: Path

    @property
    def id(self):
        return self.path.name

    @property
    def records(self):
        return [dict(record) for record in read_back(self.path / "journal.ndjson").records]

    def of(self, *types):
        return [record for record in self.records if record["type"] in types]

    @property
    def end(self):
        """The outcome; "" while it goes on."""
        ends = self.of("run.end")
        return ends[-1]["outcome"] if ends else ""

    def waits_for(self, step):
        return any(r["step"].startswith(step) for r in self.of("step.waiting", "step.result"))


@dataclass
class Going:
    """A command that goes on in a process of its own."""

    process: subprocess.Popen[bytes]
    out: Path

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    @property
    def ended(self):
        return self.process.poll() is not None

    def over(self, timeout=90):
        code = self.process.wait(seconds(timeout))
        out, err = self.out.read_text(), self.out.with_suffix(".err").read_text()
        assert "Traceback" not in out + err, out + err
        return Said(code, out, err)


class Operator(Kfix):
    """`home` is a state folder of its own, so no cooldown of another test is in the way."""

    def __init__(self, lab, folder, name="state", bootstrap=None, where=()):
        super().__init__(lab, folder / name)
        self.folder = folder
        self.name = name
        self.where = ("--bootstrap-server", bootstrap or lab.bootstrap_servers, *where)
        self.begun = []
        self._plans = 0

    def on(self, *args, **options):
        return self.run(*args, *self.where, **options)

    # -- planning

    def planning(self, runbook, *more, params=None):
        """What `runbook plan` says, and the file it was to write."""
        self._plans += 1
        path = self.folder / f"{self.name}-{self._plans}-{runbook}.json"
        given = [word for name, value in (params or {}).items() for word in ("-p", f"{name}={value}")]
        more = ("--debounce", "1", "--output-file", path, *given, *more)
        return self.on("runbook", "plan", runbook, *more), path

    def plan(self, runbook, *more, params=None):
        said, path = self.planning(runbook, *more, params=params)
        assert (said.code, path.exists()) == (0, True), said.out + said.err
        return Planned(path, json.loads(path.read_text()), next(iter(TO_APPLY.findall(said.out)), "").strip())

    def not_planned(self, runbook, *more, params=None, code=3):
        """All that was said by a planning that was refused; without the breaks of lines."""
        said, path = self.planning(runbook, *more, params=params)
        assert (said.code, path.exists()) == (code, False), said.out + said.err
        return " ".join((said.out + said.err).split())

    # -- carrying out

    def apply(self, planned, *, level="step", typed=True, code=0, timeout=120):
        words = ("runbook", "apply", "--plan", planned.path, *planned.answers(level, typed))
        said = self.on(*words, timeout=timeout)
        assert said.code == code, said.out + said.err
        return said

    def healed(self, planned, **options):
        said = self.apply(planned, **options)
        assert "PROVED" in said.out, said.out
        return said

    def begin(self, planned, *, level="step", typed=True):
        return self.going("runbook", "apply", "--plan", planned.path, *planned.answers(level, typed), *self.where)

    def begin_as_printed(self, command):
        return self.going(*shlex.split(command)[1:])

    def finish_as_printed(self, command):
        """`command` is that of a plan, or of a run that was stopped."""
        said = self.paste(command, timeout=120)
        assert (said.code, "PROVED" in said.out) == (0, True), said.out + said.err

    def dying(self, planned, broker, api_key):
        """Applies a plan; the broker is killed right before the request, which is sent when its death is noticed."""
        words = ("runbook", "apply", "--plan", planned.path, *planned.answers("step", typed=True))
        through = (sys.executable, DYING, self.lab.state.spec.name, broker, api_key)
        return self.going(*words, *self.where, through=through).over(120)

    def going(self, *args, through=(KFIX,)):
        out = self.folder / f"{self.name}-{time.monotonic_ns()}.out"
        env = os.environ | {"KFIX_STATE_HOME": str(self.home), "NO_COLOR": "1", "COLUMNS": "120"}
        with out.open("w") as file, out.with_suffix(".err").open("w") as err:
            words = [*map(str, (*through, *args))]
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=err, env=env)
        self.begun.append(Going(process, out))
        return self.begun[-1]

    def plan_back(self, ran, *more):
        """`rollback` into a plan."""
        path = self.folder / f"{self.name}-undo-{time.monotonic_ns()}.json"
        said = self.on("runbook", "rollback", ran.id, "--output-file", path, *more)
        assert said.code == 0, said.out + said.err
        return Planned(path, json.loads(path.read_text()))

    def take_back(self, ran, *more, code=0):
        undo = self.plan_back(ran, *more)
        return undo, self.apply(undo, code=code)

    def resume(self, ran, planned, *more, level="step", typed=True, code=0):
        said = self.on("runbook", "resume", ran.id, *planned.answers(level, typed), *more, timeout=120)
        assert said.code == code, said.out + said.err
        return said

    # -- what ran

    def runs(self):
        return [Ran(path) for path in sorted((self.home / "kfix" / "runs").glob("*")) if path.is_dir()]

    def ran(self, planned, within=60):
        """The run of a plan, once it has begun; a command that begins it and has ended will not begin it later."""

        def found():
            ended = [going for going in self.begun if going.process.poll() is not None]
            runs = [r for r in self.runs() if planned.short in r.id and (r.path / "journal.ndjson").exists()]
            assert runs or not self.begun or len(ended) < len(self.begun), ended[-1].over()
            return runs

        return wait_until(found, f"plan {planned.short} runs", within)[-1]

    def moves_house(self, name):
        """Another state folder, as on another host: neither cooldown nor history of the one before."""
        self.check_what_ran()
        self.home = self.folder / name

    def check_what_ran(self):
        """What was carried out is what the plans say, word for word, and no change was issued twice."""
        for ran in self.runs():
            as_planned(ran)


def as_planned(ran):
    """What takes a step back lets it be made again, as throttles are that a resumed run needs once more."""
    steps = {step["id"]: step for step in json.loads((ran.path / "plan.json").read_text())["steps"]}
    made, open_ = set(), set()
    for record in ran.of("step.intent", "step.result"):
        step = steps[name := record["step"]]
        if record["type"] == "step.intent":
            assert _call(record) == _call(step), name
            assert name not in open_, f"{name} was issued again before anybody knew what became of it"
            open_.add(name)
        elif record["changed"] is not None:
            open_.discard(name)
        if record.get("changed"):
            assert name not in made, f"{name} was made twice"
            made = {name, *(other for other in made if not _opposite(step, steps[other]))}


def _opposite(step, other):
    """One of the two takes the other one back."""
    pairs = ((step, other), (other, step))
    return any(a["inverse"] and (a["inverse"]["action"], a["inverse"]["args"]) == _call(b) for a, b in pairs)


def _call(step):
    return step["action"], step["args"]


@contextmanager
def operating(lab, folder, *names):
    """Operators with state folders of their own; at the end what they ran is compared with their plans."""
    operators = [Operator(lab, folder, name) for name in names or ("state",)]
    try:
        yield operators if names else operators[0]
    finally:
        for going in (each for one in operators for each in one.begun):
            going.process.kill()
            going.process.wait()
    for each in operators:
        each.check_what_ran()


def moves_file(operator, moves, name="given.json"):
    """Moves as Kafka's own tool writes them."""
    path = operator.folder / name
    rows = [{"topic": topic, "partition": number, "replicas": replicas} for (topic, number), replicas in moves.items()]
    path.write_text(json.dumps({"version": 1, "partitions": rows}))
    return path


_LAB = f"{sys.executable} -m kfix lab"
RESTARTS = f"{_LAB} restart {{role}} {{node}} --name "
UPGRADES = f"{_LAB} upgrade {{role}} {{node}} --kafka {{version}} --name "


def site_of(lab, config, command=""):
    """Writes an inventory that names the lab's commands, or this one to restart a node; the words that choose it."""
    (config / "kfix").mkdir(parents=True, exist_ok=True)
    entry = {"bootstrap": lab.bootstrap_servers, "restart_command": command or RESTARTS + lab.state.spec.name}
    entry["upgrade_command"] = UPGRADES + lab.state.spec.name
    fleet = {"apiVersion": "kfix/v1", "kind": "Fleet", "clusters": {"rolling": entry}}
    (config / "kfix" / "fleet.yaml").write_text(json.dumps(fleet))
    return "-c", "rolling"
