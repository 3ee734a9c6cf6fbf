"""What a probe is: one read-only question with declared arguments and declared reads.

`reads` are the facts that the answer rests on; where a step requires the probe they join the plan's read set. `freeze`
adds, at plan time, what must be literal in the plan (a group's name, an epoch to compare with).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.core.snapshot.reading import PartitionReading
from kfix.core.snapshot.snapshot import NO_LEADER, PartitionView
from kfix.heal.model.answer import Answer, judge
from kfix.heal.model.facts import ReadFact, about, show_value


def state_words(reading: PartitionReading) -> str:
    state = reading.state
    if state is None:
        return "state unknown" + (f" ({'; '.join(reading.errors)})" if reading.errors else "")
    leader = "none" if state.leader == NO_LEADER else str(state.leader)
    return f"leader {leader}, epoch {state.leader_epoch}, ISR {list(state.isr)}, registered {_registered(reading)}"


def view_words(broker: int, view: PartitionView) -> str:
    return f"broker {broker} reports leader {view.leader} epoch {view.leader_epoch}"


def saving_words(brokers: tuple[int, ...]) -> str:
    """How records that the leader lacks are saved: a log is truncated to the leader's when its broker starts."""
    whose = f"broker {brokers[0]}" if len(brokers) == 1 else f"any of brokers {', '.join(map(str, brokers))}"
    return f"before {whose} starts, copy its log directory, since it truncates its log to the leader's"


def gaps(reading: PartitionReading, unknown: str) -> str:
    """The errors of the sources that failed; `unknown` where none did and there is no value."""
    return "; ".join(reading.errors) or unknown


def _registered(reading: PartitionReading) -> str:
    return "unknown" if reading.registered is None else str(sorted(reading.registered))


ON_PARTITION: Mapping[str, ArgKind] = {"partition": ArgKind.PARTITION}

Freeze = Callable[[Args, ReadFact], Args]
Ask = Callable[[Args, ClusterReader], Answer]
#: None: a value that the answer needs could not be read.
StateRule = Callable[[Args, PartitionReading], bool | None]
#: Answers from one reading of the partition.
PartitionRule = Callable[[Args, PartitionReading, ClusterReader], Answer]


def no_reads(_args: Args) -> tuple[str, ...]:
    return ()


def as_written(args: Args, _read: ReadFact) -> Args:
    return args


@dataclass(frozen=True, slots=True)
class Probe:
    """`params` are required in YAML, `optional` may be left out there; both are frozen into the plan."""

    name: str
    summary: str
    ask: Ask
    params: Mapping[str, ArgKind] = field(default_factory=dict)
    optional: Mapping[str, ArgKind] = field(default_factory=dict)
    reads: Callable[[Args], tuple[str, ...]] = no_reads
    freeze: Freeze = as_written


def probe(
    summary: str,
    params: Mapping[str, ArgKind] | None = None,
    optional: Mapping[str, ArgKind] | None = None,
    *,
    reads: Callable[[Args], tuple[str, ...]] = no_reads,
    freeze: Freeze = as_written,
) -> Callable[[Ask], Probe]:
    """Makes the decorated function a probe of its name."""
    return lambda ask: Probe(ask.__name__, summary, ask, params or {}, optional or {}, reads, freeze)


def partition_probe(
    summary: str,
    *,
    facts: tuple[str, ...] = (),
    optional: Mapping[str, ArgKind] | None = None,
    freeze: Freeze = as_written,
    **params: ArgKind,
) -> Callable[[PartitionRule], Probe]:
    """A probe about one partition as it is recorded. `facts` are the facts of the partition that the answer rests on,
    `params` what it asks for besides the partition.
    """
    return lambda rule: Probe(
        rule.__name__,
        summary,
        lambda args, reader: rule(args, reader.recorded(args.tp()), reader),
        {**ON_PARTITION, **params},
        optional or {},
        lambda args: about(args.tp(), *facts),
        freeze,
    )


def state_probe(
    summary: str, wanted: str, *, facts: tuple[str, ...] = (), **params: ArgKind
) -> Callable[[StateRule], Probe]:
    """A probe about leader, ISR and registered brokers of one partition. `wanted` may name arguments in braces."""

    def declare(rule: StateRule) -> Probe:
        def ask(args: Args, reader: ClusterReader) -> Answer:
            reading = reader.recorded(args.tp())
            shown = {key: show_value(value) for key, value in args.items() if not isinstance(value, float)}
            return judge(rule(args, reading), state_words(reading), wanted.format(**shown))

        return Probe(
            rule.__name__, summary, ask, {**ON_PARTITION, **params}, reads=lambda args: about(args.tp(), *facts)
        )

    return declare
