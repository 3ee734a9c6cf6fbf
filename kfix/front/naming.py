"""The name of a cluster before the command: `kfix -c NAME diagnose`, and KFIX_CLUSTER."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kfix.core.errors import UsageError

#: The key of a context's `meta` under which the root keeps the `GivenName`.
NAMED: Final = "kfix.named"
VARIABLE: Final = "KFIX_CLUSTER"
#: The metavar of `kfix.front.options.ClusterName`; a pattern of clusters has another one.
_ONE: Final = "NAME"
#: Commands about the inventory itself take the name for what they show.
_FREE: Final = "context"


@dataclass(frozen=True, slots=True)
class GivenName:
    """A cluster's name in the inventory, and the option or variable that gave it."""

    name: str
    by: str = "--cluster"


def named_before(ctx: Any) -> GivenName:
    """Returns the name that was given before the command, on the command line or by KFIX_CLUSTER."""
    source = ctx.get_parameter_source("cluster")
    by_variable = source is not None and source.name == "ENVIRONMENT"
    return GivenName(ctx.params["cluster"], VARIABLE) if by_variable else GivenName(ctx.params["cluster"])


def refuse_elsewhere(named: GivenName, name: str | None, command: Any, rest: Sequence[str]) -> None:
    """Raises UsageError for `kfix -c NAME` before a command that is not about one cluster: it would be ignored."""
    if named.by == VARIABLE or name == _FREE:
        return
    words = [name or ""]
    for word in rest:
        if not hasattr(command, "table") or (found := command.get_command(None, word)) is None:
            break
        command = found
        words.append(word)
    if hasattr(command, "table") or any("-c" in p.opts and p.metavar == _ONE for p in command.params):
        return
    raise UsageError(f"kfix {' '.join(words)} does not act on a single cluster: leave out -c {named.name} before it")
