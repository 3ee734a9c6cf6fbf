"""Prometheus text exposition, written by hand: loading a library for it would cost a watch 10 MB of memory.

The tests parse every output with prometheus-client.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kfix.core.harmless import for_prometheus

Sample = tuple[dict[str, str], float]


@dataclass(frozen=True)
class Family:
    """A metric family. `samples` are pairs of labels and value; `kind` is gauge or counter."""

    name: str
    help: str
    samples: list[Sample] = field(default_factory=list)
    kind: str = "gauge"


def exposition(families: Iterable[Family]) -> str:
    """Returns the text; a family without samples is left out."""
    return "".join(_text(family) for family in families if family.samples)


def _text(family: Family) -> str:
    lines = [f"# HELP {family.name} {for_prometheus(family.help)}", f"# TYPE {family.name} {family.kind}"]
    lines += [f"{family.name}{_labels(labels)} {_number(value)}" for labels, value in family.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    pairs = ",".join(f'{name}="{for_prometheus(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
