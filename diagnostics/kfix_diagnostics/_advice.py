"""Commands that are ready to paste, and what not to do, with the reason (docs/facts/controller.md)."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from kfix.core.derive.addressing import cluster_options as cluster_options  # noqa: PLC0414 - part of this module's interface
from kfix.core.derive.addressing import servers as servers  # noqa: PLC0414
from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.coordinator import INTERNAL_TOPICS, OFFSETS_TOPIC, SHARE_TOPIC, TRANSACTIONS_TOPIC
from kfix.core.diagnosis.finding import Blocked, ChangeKind, Remedy
from kfix.core.snapshot.snapshot import TopicPartition
from kfix.core.wording import brokers_named, continued, per_topic, some, them
from kfix_diagnostics._bans import CHANGES_OF

NEVER_EDIT = (
    "Do not edit the state znode by hand: no broker is notified, and the broker recorded as leader there answers "
    "NOT_LEADER_OR_FOLLOWER"
)
NEVER_UNCLEAN_CONFIG = (
    "Do not set unclean.leader.election.enable=true: it affects every partition of the topic, from now on"
)
NEVER_SET_MIN_ISR = (
    "Do not set min.insync.replicas on the topic, not even to the same value: Kafka then forgets which replicas are "
    "eligible, and only an unclean election is left"
)


_FEW = 3
#: Runbooks that do not act on a KRaft cluster, as their `modes` say (tests/catalogue/test_runbooks.py compares both); a
#: finding never names one that refuses the mode. A plan may still refuse what only it reads
#: (tests/proofs/diagnostics/test_named_runbooks.py names what that is).
ZOOKEEPER_ONLY = frozenset({"controller-reelect", "coordinator-stuck", "metadata-divergence"})
#: Runbooks that reassign replicas to improve their number or place, which nothing is waiting for.
_MOVING = frozenset({"raise-topic-rf", "raise-offsets-rf", "spread-replicas"})


def _partition_options(numbers: Sequence[int]) -> str:
    """Returns the partitions for `kfix offsets save`; many of them are saved as all."""
    return "--partition all" if len(numbers) > _FEW else " ".join(f"--partition {number}" for number in numbers)


def save_offsets(case: CaseFile, tps: Sequence[TopicPartition]) -> tuple[Remedy, str]:
    """Returns how to save the committed offsets that the logs of these partitions hold, and the file that has them."""
    file = f"offsets-{tps[0].partition}.json" if len(tps) == 1 else "offsets.json"
    which = _partition_options([tp.partition for tp in tps])
    command = f"kfix offsets save {cluster_options(case)} {which} --output-file {file}"
    return Remedy("Save the offsets that the log holds", command), file


def save_from_disk(tps: Iterable[TopicPartition], brokers: Iterable[int]) -> Iterator[Remedy]:
    """Yields how to save the committed offsets of offsets partitions from the disk of one of these brokers."""
    numbers = sorted(tp.partition for tp in tps if tp.topic == OFFSETS_TOPIC)
    ids = sorted(brokers)
    if numbers and ids:
        yield Remedy(
            f"If it cannot start: save the committed offsets from the disk of {some([f'broker {b}' for b in ids])}; "
            f"run this there, with its log directory as DIR. Once a leader is back, kfix offsets restore commits them",
            f"kfix offsets save {_partition_options(numbers)} --log-dir DIR --output-file offsets.json",
        )


def start(brokers: Iterable[int], case: CaseFile) -> str:
    """Returns `Start brokers 1, 2 with their old disks, never with an empty one`.

    A frozen process has to be ended first, since it holds the port and the disks. So has a broker of another cluster at
    the address of one of them, which holds the port. A disk that alone has records is copied before its broker starts.
    """
    ids = tuple(brokers)
    copied = [b for b in ids if b in case.disks_to_copy]
    if copied:
        its, has_it = ("disk", "it alone has") if len(copied) == 1 else ("disks", "they alone have")
        tps = dict.fromkeys(tp for b in copied for tp in case.disks_to_copy[b])
        text = f"Copy the {its} of {brokers_named(copied)} first: {has_it} records of {per_topic(tps)} (KFX809). Then "
        return text + continued(_start(ids, case))
    if doubtful := [b for b in ids if b in case.disks_in_doubt]:
        its, has_them = ("disk", "it alone has") if len(doubtful) == 1 else ("disks", "they alone have")
        tps = dict.fromkeys(tp for b in doubtful for tp in case.disks_in_doubt[b])
        text = (
            f"If an unclean election chose the leader of {per_topic(tps)}, copy the {its} of {brokers_named(doubtful)}"
        )
        return f"{text} first: {has_them} what is missing. Then {continued(_start(ids, case))}"
    return _start(ids, case)


def _start(ids: tuple[int, ...], case: CaseFile) -> str:
    strays = [case.strayed[b][0] for b in ids if b in case.strayed]
    if strays:
        own = "its own disk and settings" if len(ids) == 1 else "their own disks and settings"
        there = "the process" if len(strays) == 1 else "the processes"
        return f"Stop {there} of another cluster at {', '.join(strays)}, then start {brokers_named(ids)} with {own}"
    frozen = [b for b in ids if b in case.frozen]
    disks = f"with {'its old disk' if len(ids) == 1 else 'their old disks'}, never with an empty one"
    if not frozen:
        return f"Start {brokers_named(ids)} {disks}"
    ending = f"End the frozen {'process' if len(frozen) == 1 else 'processes'} of {brokers_named(frozen)}, then start "
    return f"{ending}{them(len(ids)) if frozen == list(ids) else brokers_named(ids)} {disks}"


def runbook(case: CaseFile, name: str, text: str, *params: str) -> Remedy:
    """Returns a remedy that applies a runbook; `params` are its parameters as `NAME=VALUE`.

    A runbook that moves replicas is named without its command while a reassignment would be refused or would hang. On
    KRaft only the text is left of a runbook that does not act there.
    """
    why = _hindrance(case, name, params) if name in _MOVING else ""
    if why:
        acts = "" if case.kraft and name in ZOOKEEPER_ONLY else name
        return Remedy(f"Wait {why}. Then: {continued(text)}", "", acts, CHANGES_OF[name])
    if case.kraft and name in ZOOKEEPER_ONLY:
        return Remedy(text, changes=CHANGES_OF.get(name, ()))
    given = "".join(f" -p {shlex.quote(p)}" for p in params)
    return Remedy(text, f"kfix runbook apply {name}{given} {cluster_options(case)}", name, CHANGES_OF.get(name, ()))


def move_replicas(case: CaseFile, text: str) -> Remedy:
    """Returns a remedy that carries out moves of a file, which the operator has to write."""
    name = "move-replicas"
    return Remedy(text, f"kfix runbook apply {name} --json-in FILE {cluster_options(case)}", name, CHANGES_OF[name])


def _hindrance(case: CaseFile, name: str, params: Iterable[str]) -> str:
    default = OFFSETS_TOPIC if name == "raise-offsets-rf" else None
    topic = next((p.removeprefix("topic=") for p in params if p.startswith("topic=")), default)
    if topic is not None:
        return case.hindered.get(topic, "")
    return next((case.hindered[each] for each in sorted(case.hindered)), "")


def diagnose_group(case: CaseFile, group: str, text: str, options: str = "") -> Remedy:
    return Remedy(text, f"kfix diagnose {cluster_options(case)} --group {shlex.quote(group)}{options}")


def diagnose_again(case: CaseFile, text: str) -> Remedy:
    return Remedy(text, f"kfix diagnose {cluster_options(case)}")


def preferred_election(case: CaseFile, tp: TopicPartition, text: str) -> Remedy:
    return Remedy(
        text,
        f"kafka-leader-election.sh {servers(case, '--admin.config')} --election-type preferred"
        f" --topic {shlex.quote(tp.topic)} --partition {tp.partition}",
        changes=(ChangeKind.ELECTION,),
    )


def blocked(case: CaseFile, tps: Iterable[TopicPartition]) -> Blocked:
    """Returns the clients blocked while these partitions have no leader; an offsets one may block unknown groups."""
    found = list(tps)
    offsets = [tp for tp in found if tp.topic == OFFSETS_TOPIC]
    who = []
    if any(tp.topic == TRANSACTIONS_TOPIC for tp in found):
        who.append("transactional producers whose ids hash to these partitions")
    if any(tp.topic == SHARE_TOPIC for tp in found):
        who.append("share groups that read a partition whose state hashes to these partitions")
    plain = [tp for tp in found if tp.topic not in INTERNAL_TOPICS]
    if plain:
        who.append(f"producers and consumers of {per_topic(plain)}")
    return Blocked("; ".join(who), case.blocked_groups(offsets), others_unknown=not case.all_named(offsets))
