"""Removes the registration of a broker that is gone for good from a KRaft cluster (UnregisterBroker).

Kafka accepts it for a live broker, and for one that holds replicas, as well. So a guard reads right before it that the
broker is fenced, that nothing answers at its address, and that nothing is assigned to it.
"""

from collections.abc import Mapping
from typing import ClassVar

from kfix.core.args import ArgKind, Args
from kfix.core.errors import RefusedError
from kfix.core.ports import ClusterChanger, ClusterReader
from kfix.core.snapshot.reading import ChangeResult, RegisteredAs
from kfix.core.wording import several
from kfix.heal.actions.base import Action, ActionStatus, Kinds, Names, NotApplicable, Preview
from kfix.heal.model.facts import Fact, ReadFact, about_registration, count
from kfix.heal.model.plan import Estimate, Gate, Risk
from kfix.heal.probes.brokers import hidden_replicas

_SECONDS = 1.0
_REPORTED = (RegisteredAs.FENCED, RegisteredAs.ALIVE)


class BrokerUnregister(Action):
    name = "broker.unregister"
    summary = "remove the registration of a broker that is gone for good; it holds no replica"
    risk = Risk.ONE_BROKER
    gate_floor = Gate.STEP
    params: ClassVar[Kinds] = {"broker": ArgKind.BROKER, "dead_for": ArgKind.DURATION}
    irreversible = "none: the broker registers again by itself if it is ever started"
    guarded: ClassVar[Mapping[str, Names]] = {"broker_is_gone": ("broker", "dead_for")}
    proved: ClassVar[Mapping[str, Names]] = {"broker_unregistered": ("broker",)}

    def freeze(self, args: Args, read: ReadFact) -> Args:
        broker = args.number("broker")
        of_state, voter, replicas, hidden = (read(key) for key in about_registration(broker))
        state, held = of_state.value, count(replicas)
        if state == RegisteredAs.ABSENT:
            raise NotApplicable(f"broker {broker} is not registered")
        if state not in _REPORTED:
            raise RefusedError(
                f"the brokers do not report whether broker {broker} is registered (Kafka 4.0 and later do), so its "
                "removal could not be proved",
                hint=f"kafka-cluster.sh unregister --bootstrap-server ... --id {broker}",
            )
        if state == RegisteredAs.ALIVE:
            raise RefusedError(f"broker {broker} is alive", hint="shut it down first, if it is to be removed")
        if voter.value:
            raise RefusedError(f"node {broker} is a voter of the quorum: remove it there first")
        if held:
            raise RefusedError(
                f"broker {broker} still holds replicas of {several(held, 'partition')}",
                hint="kfix runbook plan move-replicas",
            )
        if hidden.value:
            raise RefusedError(hidden_replicas(broker, str(hidden.value)))
        return args

    def preview(self, args: Args) -> Preview:
        broker = args.number("broker")
        return Preview(
            what=f"unregister broker {broker}, which is fenced, gone, and holds no replica",
            target=f"broker {broker}",
            live=f"broker {broker}",
            command=f"kafka-cluster.sh unregister --bootstrap-server ... --id {broker}",
            estimate=Estimate(seconds=_SECONDS, max_loss="none: nothing is assigned to it"),
        )

    def writes(self, args: Args) -> Names:
        return about_registration(args.number("broker"))

    def apply(self, args: Args, changer: ClusterChanger) -> ChangeResult:
        return changer.unregister_broker(args.number("broker"))

    def status(self, args: Args, _before: Mapping[str, Fact], reader: ClusterReader) -> ActionStatus:
        """A controller that was frozen may still carry out a request that was sent; a second one does no harm then."""
        state = reader.registration(args.number("broker")).state
        if state is RegisteredAs.ABSENT:
            return ActionStatus.DONE
        return ActionStatus.NOT_STARTED if state is RegisteredAs.FENCED else ActionStatus.UNKNOWN
