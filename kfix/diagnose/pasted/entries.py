"""Log entries in a pasted text: the layouts of Kafka, of Strimzi, and of the common loggers of its clients.

Each entry is a block of its own; the stack trace below belongs to it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kfix.diagnose.brokerlog.lines import LogClock
from kfix.diagnose.pasted.lines import PastedLine

_STAMPED: Final = re.compile(
    r"\[?(?P<day>\d{4}[-/]\d\d[-/]\d\d)[ T](?P<minute>\d\d:\d\d):(?P<second>\d\d)(?:[.,](?P<milli>\d{3})\d*|\.\d\d?)?"
    r"(?:Z|[+-]\d\d:?\d\d)?\]?:?\s+(?P<rest>.*)",
    re.DOTALL,
)
_LEVEL: Final = re.compile(r"\b(TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|SEVERE|CRITICAL|PANIC)\b\s*[\]:-]*\s*")
#: The process, thread and logger that some layouts put between level and message.
_CONTEXT: Final = re.compile(r"(?:\d+ )?(?:--- )?(?:\[[^\]]*\] )?(?P<logger>(?:[a-z]\w*\.)+[A-Z][\w$.]*)\s+[:-]+ ")
#: The level is near the beginning, behind a thread at most.
_NEAR: Final = 90
#: Layouts without a date.
_UNDATED: Final = (
    re.compile(
        r"%(?P<number>[0-7])\|(?P<at>\d{9,11}\.\d+)\|\w+\|[^|]*\| (?:\[thrd:[^\]]*\]: )?(?P<rest>.*)", re.DOTALL
    ),
    # Its bindings may print the message alone, behind words of the program.
    re.compile(r".{0,120}?\[thrd:[^\]]*\]: (?P<rest>.*)", re.DOTALL),
    re.compile(r"\[[^\]]{1,60}\] (?P<level>TRACE|DEBUG|INFO|WARN|ERROR) (?P<rest>[a-z]\w*\..*)", re.DOTALL),
    re.compile(r"% (?P<level>ERROR|FATAL): (?P<rest>.*)", re.DOTALL),
    re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (?P<rest>.*)", re.DOTALL),
    re.compile(r"(?P<rest>(?:[\w\[].{0,80}: )?kafka server: .*)", re.DOTALL),
    re.compile(r"\[?(?P<level>TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\s*(?:\]|:|\b)\s*(?P<rest>.+)", re.DOTALL),
    re.compile(r"\d\d:\d\d:\d\d[.,]\d{3} \[(?P<level>\w+)\]\s+(?P<rest>.*)", re.DOTALL),
    re.compile(r"\d\d:\d\d:\d\d[.,]\d{3} \[[^\]]*\] (?P<level>[A-Z]+)\s+(?P<rest>.*)", re.DOTALL),
    re.compile(r"(?:\w+=\S+ )*(?:level|lvl|pri)=\"?(?P<level>\w+)\"? (?P<rest>.*)", re.DOTALL),
    re.compile(r"(?P<rest>\[(?:Consumer|Producer|AdminClient) clientId=.*)", re.DOTALL),
    re.compile(r"\[(?:sarama|kafka|kafka-go|kgo)\] (?:[\d/]{10} [\d:.]+ )?(?P<rest>.*)", re.DOTALL | re.IGNORECASE),
    # Messages of client libraries whose callers print no prefix.
    re.compile(r"(?P<rest>(?:client|consumer|producer|consumer/broker|kafka)(?:/[\w.\-/]+|:) .*)", re.DOTALL),
    re.compile(
        r"(?P<rest>(?:(?:(?:As|S)ynchronous a|A)uto-commit of offsets|Failed to join group|"
        r"Unable to establish connection to consumer group coordinator) .*)",
        re.DOTALL,
    ),
)
_LOGGER: Final = re.compile(r"(?P<text>.*) \((?P<logger>[\w.$-]+)(?::\d+)?\)(?: \[[^\]]*\])?\s*", re.DOTALL)
_TRACE: Final = re.compile(
    r"at [\w.$/<>]+\(|Caused by: |Suppressed: |\.\.\. \d+ (?:more|common frames)|"
    r"(?:[a-z]\w*\.)+[\w$]*(?:Exception|Error)\b"
)
_SEVERITIES: Final = {"0": "FATAL", "1": "FATAL", "2": "FATAL", "3": "ERROR", "4": "WARN"}
_SAME_LEVEL: Final = {"WARNING": "WARN", "SEVERE": "ERROR", "CRITICAL": "FATAL", "PANIC": "FATAL"}
#: Most further lines of a message.
_MOST_MORE: Final = 2
#: Most characters of a stack trace that are read.
_LONGEST: Final = 4_000


class LogEntry(NamedTuple):
    """An entry: `at` is in seconds since the epoch, -1 if it has no date; `level` and `logger` are "" if unknown."""

    line: PastedLine
    at: float
    level: str
    text: str
    logger: str

    def with_more(self, text: str) -> LogEntry:
        return self._replace(text=f"{self.text}\n{text}") if len(self.text) < _LONGEST else self

    @property
    def unfinished(self) -> bool:
        """Returns whether the message continues in the next line, as Elixir's logger prints it."""
        first, *more = self.text.split("\n")
        return len(more) < _MOST_MORE and first.endswith((":", "->"))


def log_entry(line: PastedLine, clock: LogClock) -> LogEntry | None:
    """Returns the entry that begins with this line, or None."""
    stamped = _STAMPED.match(line.text)
    if stamped is not None:
        try:
            minute = f"{stamped['day'].replace('/', '-')} {stamped['minute']}"
            at = clock.seconds(minute, stamped["second"], stamped["milli"] or "0")
        except (ValueError, OverflowError):
            return None
        return _dated(line, at, stamped["rest"])
    for layout in _UNDATED:
        if found := layout.match(line.text):
            parts = found.groupdict()
            level = (
                _SEVERITIES.get(parts["number"], "INFO") if "number" in parts else (parts.get("level") or "").upper()
            )
            at = float(parts["at"]) if "at" in parts else -1.0
            return _whole(line, at, level, parts["rest"])
    return None


def _dated(line: PastedLine, at: float, rest: str) -> LogEntry:
    level = _LEVEL.search(rest[:_NEAR])
    if level is None:
        return _whole(line, at, "", rest)
    before, text = rest[: level.start()].strip(" [|-"), rest[level.end() :]
    logger = before if "." in before and " " not in before else ""
    return _whole(line, at, level[1], text, logger)


def _whole(line: PastedLine, at: float, level: str, text: str, logger: str = "") -> LogEntry:
    if context := _CONTEXT.match(text):
        return LogEntry(line, at, _SAME_LEVEL.get(level, level), text[context.end() :], context["logger"])
    named = _LOGGER.fullmatch(text)
    if named is not None and ("." in named["logger"] or logger == ""):
        text, logger = named["text"], named["logger"]
    return LogEntry(line, at, _SAME_LEVEL.get(level, level), text.rstrip(), logger)


def is_trace(text: str) -> bool:
    """Returns whether a line belongs to the stack trace of the entry above."""
    return _TRACE.match(text) is not None
