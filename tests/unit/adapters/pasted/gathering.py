"""What every format has read of a text about one cluster."""

from kfix.adapters.pasted.gathered import Gathered
from kfix.adapters.pasted.lines import pasted_lines
from kfix.adapters.pasted.reader import gather_lines


def gather(text: str) -> Gathered:
    return gather_lines(pasted_lines(text.splitlines()))
