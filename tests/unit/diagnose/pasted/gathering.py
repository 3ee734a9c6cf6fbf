"""What every format has read of a text about one cluster."""

from kfix.diagnose.pasted.gathered import Gathered
from kfix.diagnose.pasted.lines import pasted_lines
from kfix.diagnose.pasted.reader import gather_lines


def gather(text: str) -> Gathered:
    return gather_lines(pasted_lines(enumerate(text.splitlines(), 1)))
