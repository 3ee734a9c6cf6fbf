"""The last leader is alive and has every record, and may not lead, as it was killed: another may, which is dead.

Kafka 4 removes a broker from the eligible leader replicas when it was not shut down cleanly.
"""

from __future__ import annotations

from kfix.lab.definition.recipes import ZK
from kfix.lab.incidents.setup.content import FIRST, RECORDS, TOPIC
from kfix.lab.incidents.setup.context import IncidentContext
from kfix.lab.incidents.setup.incident import Incident, IncidentOutcome

_MORE = 5


@Incident(
    "elr-struck",
    title="the last leader is alive with all records and may not lead; the eligible replica is dead",
    does="Shuts down one of three replicas, writes more, kills the other two, starts all but the eligible one.",
    expect=(
        "a preferred election is refused",
        "setting min.insync.replicas on the topic makes it worse: it removes the eligible replicas",
    ),
    not_on={
        ZK: "eligible leader replicas are of KRaft",
        "3.9.2": "Kafka 3.9 keeps no eligible leader replicas",
    },
    elr=True,
)
def run(context: IncidentContext) -> IncidentOutcome:
    behind, eligible, last = context.ids()[:3]
    context.topic(TOPIC, [[behind, eligible, last]], {"min.insync.replicas": "2"})
    context.shut_down(behind)
    context.access.produce(TOPIC, {0: [(f"late-{number}", b"acknowledged by all") for number in range(_MORE)]})
    context.report(f"wrote {_MORE} more records with acks=all to brokers {eligible} and {last}")
    context.kill(eligible)
    context.kill(last)
    context.start(behind)
    context.start(last)
    state = context.wait_state(
        FIRST,
        f"no leader, and only {eligible} may lead",
        lambda each: (each.leader, each.eligible) == (-1, (eligible,)),
    )
    context.require(state.isr == (), "its ISR is empty")
    context.wait_leaderless_everywhere(FIRST)
    ends = context.log_ends(FIRST, [behind, last])
    context.require(
        ends == {behind: RECORDS, last: RECORDS + _MORE}, f"broker {last} has all records, broker {behind} not: {ends}"
    )
    return IncidentOutcome(
        f"{TOPIC}-0 has no leader and an empty ISR, eligible is {eligible}, which is dead; log ends {ends}",
        (
            f"starting broker {eligible} gives {TOPIC}-0 a leader and loses nothing",
            f"an unclean election elects {behind}, the first live one in order, and loses {_MORE} records",
        ),
        partitions=[FIRST],
        dead=[eligible],
        details={
            "eligible": eligible,
            "last_leader": last,
            "would_win": behind,
            "lost_if_it_wins": _MORE,
            f"log_end_{behind}": ends[behind],
            f"log_end_{last}": ends[last],
        },
    )
