"""The resource itself sets this value, or sets none where the value is `(absent)`; a default does not count."""

from __future__ import annotations

from kfix.core.args import ArgKind, Args
from kfix.core.ports import ClusterReader
from kfix.heal.model.answer import Answer, judge
from kfix.heal.probes.configs.resource import Resource, own_texts, resource_probe


def _rule(args: Args, resource: Resource, reader: ClusterReader) -> Answer:
    kind, name = resource
    key, wanted = args.text("key"), args.text("value")
    (found,) = own_texts(reader, kind, name, (key,))
    return judge(found == wanted, f"{kind} {name}: {key} {found}", f"{key} {wanted}")


PROBE = resource_probe(
    "config_is", "the topic or broker itself sets the key to this value", _rule, key=ArgKind.TEXT, value=ArgKind.TEXT
)
