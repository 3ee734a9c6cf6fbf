"""A page in Markdown on a terminal: prose is wrapped to its width, and commands are never broken."""

from __future__ import annotations

from kfix.front.lines import lines_text
from kfix.front.markdown import markdown_lines

PAGE = """\
# A `title`

Some **strong** words and a [link](other.md) that are long enough to be wrapped.

- a bullet that is long enough to be wrapped, with its hanging indent

```sh
kafka-topics.sh --bootstrap-server broker1:9092 --describe --topic a-long-name
```
"""


def test_marks_become_text_and_commands_stay_whole() -> None:
    assert lines_text(markdown_lines(PAGE), 40).splitlines() == [
        "A title",
        "",
        "Some strong words and a link that are",
        "  long enough to be wrapped.",
        "",
        "- a bullet that is long enough to be",
        "  wrapped, with its hanging indent",
        "",
        "    kafka-topics.sh --bootstrap-server broker1:9092 --describe --topic a-long-name",
    ]
