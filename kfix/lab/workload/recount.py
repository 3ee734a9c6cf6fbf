"""The true loss of a background workload: its acknowledged messages compared with the log, read after healing."""

import json
from dataclasses import dataclass

from kfix.core.errors import LabError
from kfix.lab.nodes.handle import LabHandle
from kfix.lab.workload.background import acknowledged_file


@dataclass(frozen=True)
class Recount:
    """Numbers of messages. `duplicated` counts further copies; `lost` are acknowledged and not in the log."""

    acknowledged: int
    in_log: int
    lost: int
    duplicated: int


def recount(lab: LabHandle, number: int) -> Recount:
    """Raises LabError while the producer runs, and if the log cannot be read to its end."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 - takes long to import

    from kfix.lab.workload.workload import whole_log  # noqa: PLC0415 - brings the client library

    file = acknowledged_file(lab.store.dir, number)
    try:
        counted = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LabError(
            f"workload {number} has not ended", hint=f"kfix lab workload --counts {number} shows its progress"
        ) from None
    acknowledged = set(counted["numbers"])
    copies: dict[int, int] = {}
    try:
        for message in whole_log(lab.bootstrap_servers, counted["topic"]):
            run, _, sent = (message.value() or b"").partition(b":")
            if run == counted["run"].encode() and sent.isdigit():
                copies[int(sent)] = copies.get(int(sent), 0) + 1
    except KafkaException as problem:
        raise LabError(
            f"the log of {counted['topic']} could not be read to its end: {problem.args[0].str()}",
            hint="kfix lab status shows which brokers are dead",
        ) from None
    return Recount(
        acknowledged=len(acknowledged),
        in_log=len(copies),
        lost=len(acknowledged - copies.keys()),
        duplicated=sum(count - 1 for count in copies.values()),
    )
