"""Every registered broker reports the leader and the leader epoch that are recorded.

A broker that does not answer makes this inconclusive: its view is unknown, and a client may be using it.
"""

from __future__ import annotations

from kfix.core.args import Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, Verdict, judge
from kfix.heal.probes.base import ON_PARTITION, Probe
from kfix.heal.probes.words import state_words, view_words

_WANTED = "every registered broker reports the recorded leader and epoch"


def _ask(args: Args, reader: ClusterReader) -> Answer:
    reading = reader.partition(args.tp())
    if reading.state is None or reading.registered is None:
        return Answer(Verdict.INCONCLUSIVE, state_words(reading), _WANTED)
    truth = (reading.state.leader, reading.state.leader_epoch)
    others = {b: v for b, v in sorted(reading.views.items()) if (v.leader, v.leader_epoch) != truth or v.error}
    silent = sorted(reading.registered - reading.views.keys())
    shown = [view_words(b, v) for b, v in others.items()]
    shown += [f"broker {b} did not answer" for b in silent]
    observed = f"recorded: leader {truth[0]} epoch {truth[1]}; " + ("; ".join(shown) or "all agree")
    return judge(False if others else None if silent else True, observed, _WANTED)


PROBE = Probe("views_agree", "all registered brokers report the recorded leader and epoch", _ask, ON_PARTITION)
