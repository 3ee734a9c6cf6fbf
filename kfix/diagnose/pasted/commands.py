"""The command above an output: it names the requested group, and shows which rows a filter left out."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kfix.diagnose.pasted.lines import PastedLine

_PROMPT: Final = re.compile(
    r"(?:[\w.@:~/\\() \[\]-]{0,80}\$|"
    r"[\w.@:~/\[\]-]*[@:~\]][\w.@:~/ \[\]-]*[#%]|PS [A-Z]:[\w\\. -]*>) (?P<command>\S.*)|"
    r"[A-Z]:\\[\w\\. ()-]*>\s?(?P<windows>\S.*)",
    re.DOTALL,
)
#: A Kafka tool without a prompt: options follow its name.
_TOOL: Final = re.compile(
    r"(?:\S*[/\\])?(?:kafka-[a-z-]+|kcat|kafkacat|zookeeper-shell|zkCli|rpk)"
    r"(?:\.sh|\.bat)?\s+-?-?[\w-]"
)
_PIPED: Final = re.compile(r"\|\s*(?P<filter>(?:e|f|z)?grep|rg|head|tail|sed|awk|cut|findstr|Select-String)\b")
_FILTERS: Final = re.compile(
    r"--(?:under-replicated-partitions|unavailable-partitions|under-min-isr-partitions|at-min-isr-partitions)\b"
)


class PastedCommand(NamedTuple):
    """`text` is the command line, "" without one."""

    text: str = ""

    @property
    def filtered(self) -> str:
        """Returns why its output leaves rows out, "" if it does not."""
        found = _PIPED.search(self.text) or _FILTERS.search(self.text)
        return f"its command has {found[0].strip('| ')}" if found is not None else ""

    @property
    def by_record(self) -> bool:
        """Returns whether its output is ZooKeeper's record, which names a leader also when it is dead."""
        return "--zookeeper" in self.text

    @property
    def under_min_isr(self) -> bool:
        return "--under-min-isr-partitions" in self.text


def command_of(line: PastedLine) -> PastedCommand | None:
    """Returns the command in a line: behind a prompt, or a tool of Kafka with its options."""
    if _TOOL.match(line.text):
        return PastedCommand(line.text)
    prompt = _PROMPT.match(line.text)
    if prompt is None or line.text.startswith("[zk:"):
        return None
    return PastedCommand(prompt["command"] or prompt["windows"])
