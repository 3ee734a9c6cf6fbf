"""Which failed sources leave something unknown, and what. A dead broker that does not answer leaves nothing unknown."""

import re
from collections.abc import Iterator

from kfix.core.derive.casefile import CaseFile
from kfix.core.derive.coordinator import OFFSETS_TOPIC
from kfix.core.derive.grouping import grouped
from kfix.core.snapshot.pasted import PastedText
from kfix.core.snapshot.snapshot import TOPIC_CONFIGS, Source, TopicPartition
from kfix.core.wording import several

_BROKER = re.compile(r"\bbroker ([0-9]{1,10})\b")
_LEAVES_OPEN = {
    "bootstrap": "what runs at this address; no registered broker has it, but clients that bootstrap there wait",
    "zookeeper": "partition states, registrations and the controller, and whether ZooKeeper and the brokers disagree",
    "server": "why it differs: whether it belongs to the brokers' ensemble, and what its clients are shown meanwhile",
    "znode": "the content of this record, and whether ZooKeeper and the brokers disagree about it",
    "znodes": "the content of these records, and whether ZooKeeper and the brokers disagree about them",
    "broker": "whether the metadata of this broker is stale",
    "coordinator": "whether coordinators respond, and so which groups are blocked",
    "offset": "whether coordinators on this broker respond",
    "groups": "which groups this broker coordinates",
    "topic": "min.insync.replicas of the topics, and so whether producers with acks=all fail",
    "compaction": "whether the log cleaner compacts these partitions (KFX115)",
    "configs": "the defaults of this broker",
    "eligible": "which dead brokers may lead these partitions without a loss",
    "settings": "whether this controller elects replicas that lack records by itself (unclean elections)",
    "log": "how long the logs of this broker are, and so what an unclean election would lose",
    "reassignments": "whether a reassignment is stuck",
    "part": "what these rows show",
    "rest": "the partitions that the text does not show",
    "description": "the partitions of this topic",
    "partitions": "whether partitions lack a leader or replicas",
    "errors": "what these errors are about",
    "another": "how the other cluster is: paste its outputs by themselves",
    "list": "broker liveness, and whether ZooKeeper and the brokers agree: this diagnosis rests on the text alone",
}


def unread(case: CaseFile) -> tuple[Source, ...]:
    failed = (*case.failed_sources, *(_compaction(case) if case.criteria.prevention else ()))
    return tuple(s for s in failed if not _known_otherwise(s.name, case))


def _compaction(case: CaseFile) -> Iterator[Source]:
    """Yields a source for each leader of offsets partitions of which it is unknown whether they are compacted."""
    failed = grouped((each.broker, each) for each in case.snapshot.offsets_sizes if each.error)
    for broker, logs in sorted(failed.items()):
        more = f" and {len(logs) - 1} more" if len(logs) > 1 else ""
        first = TopicPartition(OFFSETS_TOPIC, logs[0].partition)
        yield Source(f"compaction on broker {broker}", ok=False, error=f"{first}{more}: {logs[0].error}")


def leaves_open(name: str) -> str:
    return _LEAVES_OPEN.get(name.split(" ", 1)[0], "what this source would have shown")


def broker_of(name: str) -> int | None:
    """Returns the broker behind a source such as `broker 2` or `log ends broker 2`; None where there is none."""
    found = _BROKER.search(name)
    return int(found[1]) if found else None


def _known_otherwise(name: str, case: CaseFile) -> bool:
    broker = broker_of(name)
    if broker is not None and name.startswith(TOPIC_CONFIGS) and case.snapshot.topic_configs:
        # The next broker was asked for the same settings, and answered.
        return True
    if broker is not None:
        return case.live is not None and broker not in case.live
    # A bootstrap server that does not respond may be a broker that is known to be dead or silent.
    return name.startswith("bootstrap") and bool(case.views) and bool(case.dead or case.silent)


# Notes on a pasted text: as which formats it was read, and which of its lines count for nothing.


def text_notes(text: PastedText) -> Iterator[str]:
    """Yields a note where formats are mixed, and where lines were skipped or repeat others, with the first of them."""
    if len(text.formats) > 1:
        yield "read from the text: " + ", ".join(
            f"{several(count, 'line')} of {name}" for name, count in sorted(text.formats.items())
        )
    for tool, count in sorted(text.unused.items()):
        yield f"{several(count, 'line')} of {tool} in the text: it shows nothing that this diagnosis uses"
    if text.skipped:
        skipped = "1 line was" if text.skipped == 1 else f"{text.skipped} lines were"
        yield f"{skipped} skipped, of no format that kfix reads: {_first(text.skipped)}{text.first_skipped}"
    if text.repeated:
        repeated = "1 line repeats" if text.repeated == 1 else f"{text.repeated} lines repeat"
        yield f"{repeated} what an earlier line shows: {_first(text.repeated)}{text.first_repeated}"


def _first(count: int) -> str:
    return "" if count == 1 else "the first is "
