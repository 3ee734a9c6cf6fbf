"""Probes for restarting nodes one by one: may it go down, was it started, is the cluster whole again."""

from collections.abc import Iterator, Mapping
from typing import Final

from kfix.core.args import ArgKind, Args
from kfix.core.derive.casefile import CaseFile, open_case
from kfix.core.derive.record import record_of
from kfix.core.errors import UsageError
from kfix.core.failures.scenarios import failure_of, following, unknown_of, voters_of
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import NodeRole, StartMark
from kfix.core.snapshot.snapshot import NO_LEADER
from kfix.core.wording import several, some
from kfix.diagnose.stopping import Assessment, judge_stop
from kfix.diagnose.upgrading import CLIENTS_UNKNOWN, judge_upgrade, line_wanted
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact, about_cluster
from kfix.heal.probes.base import probe

_SHOWN: Final = 5
OF_NODE: Final[Mapping[str, ArgKind]] = {"role": ArgKind.TEXT, "node": ArgKind.BROKER}
_MARK: Final[Mapping[str, ArgKind]] = {"since": ArgKind.INT, "epoch": ArgKind.INT}


def role_of(args: Args) -> NodeRole:
    return NodeRole(args.text("role"))


def mark_of(args: Args) -> StartMark:
    return StartMark(args.number("since"), args.number("epoch"))


def with_mark(args: Args, read: ReadFact) -> Args:
    """Adds the present moment, unless the arguments have one."""
    if "since" in args:
        return args
    [key] = about_cluster("start_mark")
    number, _, epoch = str(read(key).value).partition("@")
    return args.with_(since=int(number), epoch=int(epoch))


@probe("nothing stops while this node is down (kfix preflight restart)", OF_NODE)
def restart_is_safe(args: Args, reader: ClusterReader) -> Answer:
    """As `kfix preflight restart` judges a fresh snapshot: unknown where anything that could stop was not read."""
    node = f"{role_of(args).value}={args.number('node')}"
    case, wanted = open_case(reader.snapshot()), f"kfix preflight restart {node}: safe"
    try:
        found = judge_stop(case, failure_of(node, case, "preflight restart "))
    except UsageError as error:
        return judge(False, str(error), wanted)
    return _verdict(found, wanted)


def _verdict(found: Assessment, wanted: str) -> Answer:
    against = [f"{each.what} (until {each.until})" if each.until else each.what for each in found.obstacles]
    if against:
        return judge(False, some(against, _SHOWN), wanted)
    if found.unknown:
        return judge(None, some(found.unknown, _SHOWN), wanted)
    return judge(True, some(found.cautions, _SHOWN) if found.cautions else "nothing would stop", wanted)


@probe("the node has registered since the plan was made", OF_NODE, _MARK, freeze=with_mark)
def node_started_since(args: Args, reader: ClusterReader) -> Answer:
    """A broker has to be registered now, too."""
    role, node, mark = role_of(args), args.number("node"), mark_of(args)
    named, wanted = f"{role.value} {node}", f"a registration after {mark.number}"
    at = reader.starts_since(mark).get((role, node))
    if at is None:
        return judge(False, f"{named} has not registered since", wanted)
    if role is NodeRole.BROKER and node not in reader.registered_brokers():
        return judge(False, f"{named} registered at {at}, and is gone again", wanted)
    return judge(True, f"{named} registered at {at}", wanted)


@probe("nothing is against the version (kfix preflight upgrade)", {"version": ArgKind.TEXT, "clients": ArgKind.TEXT})
def upgrade_is_safe(args: Args, reader: ClusterReader) -> Answer:
    """As `kfix preflight upgrade`, on KRaft; the operator states with `clients: checked` that Kafka 4 refuses none."""
    case, wanted = open_case(reader.snapshot()), f"kfix preflight upgrade {args.text('version')}: safe"
    clients = Assessment() if args.text("clients") == "checked" else CLIENTS_UNKNOWN
    try:
        found = judge_upgrade(case, line_wanted(args.text("version")), clients)
    except UsageError as error:
        return judge(False, str(error), wanted)
    if not case.kraft and not found.obstacles:
        return judge(False, "with ZooKeeper inter.broker.protocol.version has to be set on each broker first", wanted)
    return _verdict(found, wanted)


@probe("the node runs this version, as far as it can be seen", {**OF_NODE, "version": ArgKind.TEXT})
def node_runs(args: Args, reader: ClusterReader) -> Answer:
    """Only the line of a node's software can be seen, such as 4.3 of 4.3.1."""
    node, wanted = args.number("node"), line_wanted(args.text("version"))
    line = open_case(reader.snapshot()).background.settings.releases.lines.get(node)
    named, text = f"{role_of(args).value} {node}", "{}.{}".format(*wanted)
    if line is None:
        return judge(None, f"which version {named} runs", text)
    return judge(line == wanted, f"{named} runs {line[0]}.{line[1]}", text)


@probe("every replica is in sync, every partition has a leader, controllers and coordinators keep up")
def cluster_whole(_args: Args, reader: ClusterReader) -> Answer:
    """Anything that was not read makes the answer inconclusive."""
    case, wanted = open_case(reader.snapshot()), "all replicas in sync, all voters and coordinators at work"
    if wrong := tuple(_not_whole(case)):
        return judge(False, some(wrong, _SHOWN), wanted)
    if unknown := tuple(_not_known(case)):
        return judge(None, some(unknown, _SHOWN), wanted)
    return judge(True, f"{several(len(case.live or ()), 'broker')}, as wanted", wanted)


def _not_whole(case: CaseFile) -> Iterator[str]:
    record = record_of(case.snapshot)
    for tp, assignment in {} if record is None else record.assignments.items():
        state = record.states.get(tp) if record is not None else None
        if state is None:
            continue
        if state.leader == NO_LEADER:
            yield f"{tp} has no leader"
        elif out := sorted(set(assignment.replicas) - set(state.isr)):
            yield f"{tp}: {out} not in sync"
    keep_up, unread = following(case)
    if behind := sorted(voters_of(case) - keep_up - unread):
        yield f"controllers {behind} do not keep up"
    yield from (f"the coordinator of {p.group} does not answer" for p in case.snapshot.probes if not p.answers)


def _not_known(case: CaseFile) -> Iterator[str]:
    if record_of(case.snapshot) is None:
        yield "the record of the cluster was not read"
    yield from unknown_of(case)
    if unread := sorted(following(case)[1]):
        yield f"whether controllers {unread} keep up"
