"""Every registered broker names the leader and the leader epoch that ZooKeeper records.

A broker that does not answer makes this inconclusive: what it believes is unknown, and a client may be asking it.
"""

from __future__ import annotations

from kfix.model.plan.answer import Answer, Verdict, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.words import state_words, view_words


def ask(args: Args, reader: ClusterReader) -> Answer:
    reading = reader.partition(args.tp())
    wanted = "every registered broker agrees with ZooKeeper on leader and epoch"
    if reading.state is None or reading.registered is None:
        return Answer(Verdict.INCONCLUSIVE, state_words(reading), wanted)
    truth = (reading.state.leader, reading.state.leader_epoch)
    others = {b: v for b, v in sorted(reading.views.items()) if (v.leader, v.leader_epoch) != truth or v.error}
    silent = sorted(reading.registered - reading.views.keys())
    said = [view_words(b, v) for b, v in others.items()]
    said += [f"broker {b} did not answer" for b in silent]
    observed = f"ZooKeeper says leader {truth[0]} epoch {truth[1]}; " + ("; ".join(said) or "all agree")
    return judge(False if others else None if silent else True, observed, wanted)


PROBE = Probe(
    name="views_agree",
    summary="all registered brokers and ZooKeeper name the same leader and epoch",
    params={"partition": ArgKind.PARTITION},
    ask=ask,
)
