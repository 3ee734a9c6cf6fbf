"""Lines of a pasted text without the prefixes of terminals, chats, container runtimes and log shippers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from kfix.diagnose.pasted.json_text import json_object

#: Most characters of a line that are kept in a message.
_SHOWN: Final = 80
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_INVISIBLE: Final = re.compile("[\u200b\u200c\u200d\u2060\ufeff]")
_ISO: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"
#: How a log entry begins: with its time, its level, or librdkafka's prefix.
_LOG: Final = (
    r"(?=\[?\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:|%\d\||\{\"|(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b|\s*at |\s*Caused by:|"
    r"(?:[a-z]\w*\.)+[A-Z][\w$]*(?:Exception|Error)\b)"
)
#: How a line of `kcat -L` or of `kafka-topics --describe` begins.
_TABLE: Final = (
    r"Metadata for | +\d+ (?:brokers|topics):| +broker \d+ at | +topic \"| +partition \d+, leader |"
    r"\s*Topic: ?\S+\s+Parti"
)
#: Prefixes of lines; `node` is the name of a host, pod, container or file in one.
_PREFIXES: Final = tuple(
    map(
        re.compile,
        (
            r" +\d+\t",  # cat -n
            r"(?:\s*(?:[>|\u2502`]|[-*\u2022](?=\s)(?!\s+-)))+\s?",  # mails, chats, lists
            r"[a-z][\w.-]*: (?=\d{4}/\d\d/\d\d \d\d:\d\d:\d\d )",  # the logger of Go with a prefix
            r"\d{4} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d\s+\|\s",  # web consoles of containers
            r"(?P<node>[\w.-]+)\s+\|(?:\s|$)",  # docker compose
            r"\[pod/(?P<node>[\w.-]+)/[\w.-]+\] ?",  # kubectl logs --prefix
            rf"\[?(?P<node>[a-z0-9][\w.-]*)(?: \u203a)? [a-z][\w.-]*\]? (?:\| )?{_LOG}",  # stern, kail
            rf"{_ISO} (?:stdout|stderr) [FP] ",  # CRI
            (
                rf"(?:<\d+>1 {_ISO}|[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d|{_ISO}) (?P<node>[\w.-]+) "
                r"[\w./@-]+(?:\[\d+\]:| \S+ \S+ -) ?"
            ),  # journald, syslog
            r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4} [\w.*-]+: (?=\{)",  # Fluentd
            r"(?P<node>(?:\S*/)?[\w.-]+\.(?:log|out|txt)[\w.-]*?)(?::(?:\d+:)?|-(?:\d+-)?(?=[\[\s]))",  # grep -H
            rf"\d+[:-](?:{_LOG}|(?=\s*(?:Topic|Partition):))",  # grep -n
            rf"(?:{_ISO}) (?P<node>\w[\w.-]*\[[\w.-]+\]): ",  # Heroku
            rf"(?P<node>[\w.-]+): (?={_TABLE})",  # dsh, pdsh
            rf"{_ISO}\s+(?=\S)",  # kubectl logs --timestamps, docker logs -t
        ),
    )
)
_MOST_PREFIXES: Final = 6
_QUOTES: Final = "\"'`_\u201c\u201d\u2018\u2019"
_MESSAGE: Final = ("log", "message", "msg", "MESSAGE", "short_message")
_JSON_LOG: Final = re.compile(r'\{.*"(?:log|message|msg|MESSAGE|short_message)"\s*:')
_TIMES: Final = ("timestamp", "@timestamp", "time", "ts", "instant")
_LEVELS: Final = ("level", "severity", "log.level", "loglevel", "levelname")
_LOGGERS: Final = ("logger_name", "loggerName", "logger", "log.logger")
_NODES: Final = ("host", "hostname", "pod_name", "pod", "_HOSTNAME", "container_name")
#: Fields of a JSON entry that name its subject.
_SUBJECTS: Final = ("error", "err", "groupId", "group", "topic", "partition", "brokerId", "broker")
_TRACES: Final = ("stack_trace", "error.stack_trace", "stacktrace", "exc_info", "exception")
#: Exceptions as log4j's JSON layouts print them: (the field, its class, its message).
_THROWN: Final = (("thrown", "name", "message"), ("exception", "exception_class", "exception_message"))


class PastedLine(NamedTuple):
    """`number` counts from 1; `raw` is the line as pasted, `text` is without prefixes and surrounding blanks.

    `file` is the file of the line, "" for the pasted text itself, and `node` the name in its prefix.
    """

    number: int
    text: str
    raw: str
    file: str = ""
    node: str = ""

    @property
    def shown(self) -> str:
        """Returns the line for a message: `line 7: ...`."""
        raw = self.raw.strip()
        return f"{self.where}: {raw if len(raw) <= _SHOWN else f'{raw[:_SHOWN]} ...'}"

    @property
    def where(self) -> str:
        if not self.number:
            return "the whole text"
        return f"{self.file}:{self.number}" if self.file else f"line {self.number}"


def pasted_lines(numbered: Iterable[tuple[int, str]], file: str = "") -> Iterator[PastedLine]:
    """Yields the lines that are not blank."""
    for number, raw in numbered:
        bare, node = bare_line(raw)
        if bare:
            yield PastedLine(number, bare, raw, file, node)


def bare_line(raw: str) -> tuple[str, str]:
    """Returns the line without colours, invisible characters, quoting and prefixes, and the node in a prefix."""
    if raw.startswith("[2") and raw.isascii() and "\x1b" not in raw:
        return raw.strip(), ""  # Kafka's own layout, which most long texts have.
    line = _INVISIBLE.sub("", _ANSI.sub("", raw)).replace("\u00a0", " ")
    node = ""
    for _ in range(_MOST_PREFIXES):
        found = next(filter(None, (prefix.match(line) for prefix in _PREFIXES)), None)
        if found is not None:
            node = node or found.groupdict().get("node") or ""
            line = line[found.end() :]
        elif _JSON_LOG.match(line) and (entry := json_object(line.strip())) is not None:
            line, named = _unwrapped(entry)
            node = node or named
        else:
            break
    line = line.strip()
    # A pair of quotes around a whole line; JSON keeps its own.
    while len(line) > 1 and line[0] in _QUOTES and line[-1] in _QUOTES:
        line = line[1:-1].strip()
    line = line.rstrip("`").rstrip()
    return "" if line == "--" else line, node


def _unwrapped(entry: dict[str, Any]) -> tuple[str, str]:
    """Returns (the line in a JSON entry, its node): as Kafka itself writes it, if the entry has time and level."""
    message = next((str(entry[key]) for key in _MESSAGE if key in entry), "").strip().replace("\n", " ")
    names = entry | _dict(entry.get("kubernetes")) | _dict(_dict(entry.get("kubernetes")).get("pod"))
    node = next((str(names[key]) for key in _NODES if isinstance(names.get(key), str)), "")
    level = next((str(entry[key]).upper() for key in _LEVELS if key in entry), "")
    if not level:
        return message, node
    at = next((entry[key] for key in _TIMES if isinstance(entry.get(key), str)), "")
    stamp = (
        f"[{at[:10]} {at[11:19]},{(at[20:23] if at[19:20] == '.' else '').ljust(3, '0')}] " if at[10:11] == "T" else ""
    )
    subjects = ", ".join(f"{key}={entry[key]}" for key in _SUBJECTS if isinstance(entry.get(key), (str, int)))
    logger = next((f" ({entry[key]})" for key in _LOGGERS if isinstance(entry.get(key), str)), "")
    return f"{stamp}{level} {message}{f'; {subjects}' if subjects else ''}{_trace(entry)}{logger}", node


def _trace(entry: dict[str, Any]) -> str:
    """Returns the exception of a JSON entry as the lines below an entry of Kafka, "" without one."""
    if trace := next((entry[key] for key in _TRACES if isinstance(entry.get(key), str)), ""):
        return f"\n{trace}"
    thrown = [(_dict(entry.get(field)), name, text) for field, name, text in _THROWN]
    return next((f"\n{each[name]}: {each.get(text)}" for each, name, text in thrown if name in each), "")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
