"""The resource itself sets this value, or sets none where the value is `(absent)`; a default does not count."""

from __future__ import annotations

from kfix.model.plan.answer import Answer, judge
from kfix.model.plan.args import ArgKind, Args
from kfix.model.plan.facts import ReadFact
from kfix.ports import ClusterReader
from kfix.probes.base import Probe
from kfix.probes.configs.resource import PARAMS, own_texts, resource_of


def freeze(args: Args, _read: ReadFact) -> Args:
    resource_of(args)
    return args


def ask(args: Args, reader: ClusterReader) -> Answer:
    kind, name = resource_of(args)
    key, wanted = args.text("key"), args.text("value")
    (found,) = own_texts(reader, kind, name, (key,))
    return judge(found == wanted, f"{kind} {name}: {key} {found}", f"{key} {wanted}")


PROBE = Probe(
    name="config_is",
    summary="the topic or broker itself sets the key to this value",
    params={**PARAMS, "key": ArgKind.TEXT, "value": ArgKind.TEXT},
    freeze=freeze,
    ask=ask,
)
