"""`kafka-log-dirs --describe`: which brokers answered, and which of their log directories have failed."""

import re
from typing import Any, Final

from kfix.core.numbers import is_int32
from kfix.diagnose.pasted.gathered import BadRowError, Gathered, number
from kfix.diagnose.pasted.json_text import JsonLines, json_object
from kfix.diagnose.pasted.lines import PastedLine

NAME: Final = "kafka-log-dirs"
_ASKING: Final = "Querying brokers for log directories information"
_RECEIVED: Final = re.compile(r"Received log directory information from brokers (?P<ids>\d+(?:,\d+)*)")
_BEGINS: Final = re.compile(r'\{\s*("version"\s*:\s*\d+\s*,\s*"brokers"\s*:|"brokers"\s*:\s*\[\s*\{\s*"broker"\s*:)')


class LogDirsFormat:
    """Reads the JSON below `Received log directory information`, on one line or on many."""

    name = NAME

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._json = JsonLines()
        self._expected = False

    def take(self, line: PastedLine) -> bool:
        """Returns whether the line is of this format. Raises BadRowError for another tool's JSON."""
        if self._json.open or _BEGINS.match(line.text) or (self._expected and line.text.startswith("{")):
            self._expected = False
            whole = self._json.add(line.text, line.number)
            if whole is not None:
                self._brokers(whole, line)
            return True
        if received := _RECEIVED.match(line.text):
            self._expected = True
            for broker in received["ids"].split(","):
                self._gathered.say_alive(number(broker, "broker"), f"answered (line {line.number})")
            return True
        return line.text.startswith(_ASKING)

    def end_block(self) -> None:
        """Reports JSON that is cut off."""
        if self._json.open:
            self._gathered.problems.append(f"{self._json.number}: the JSON of {NAME} is cut off")
            self._json.drop()

    def _brokers(self, text: str, line: PastedLine) -> None:
        raw = json_object(text)
        brokers = raw.get("brokers") if raw is not None else None
        if not isinstance(brokers, list) or not all(isinstance(each, dict) for each in brokers):
            raise BadRowError(f"not the JSON of {NAME}")
        for each in brokers:
            if is_int32(each.get("broker")):
                self._broker(each["broker"], each.get("logDirs"), line)

    def _broker(self, broker: int, folders: Any, line: PastedLine) -> None:
        self._gathered.say_alive(broker, f"answered (line {line.number})")
        for folder in folders if isinstance(folders, list) else ():
            if isinstance(folder, dict) and folder.get("error"):
                what = line._replace(text=f"log directory {folder.get('logDir')}: {folder['error']}"[:120])
                self._gathered.complain("log dir", "", -1, what, broker=broker, detail=str(folder.get("logDir"))[:200])
