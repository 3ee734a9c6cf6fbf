"""`python -m kfix` and the `kfix` command."""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    # 0 is what some terminals and CI systems say for "unknown"; taken as a width nothing would be printed.
    if os.environ.get("COLUMNS") == "0":
        del os.environ["COLUMNS"]
    # A name that the terminal's encoding does not have is told in escapes, and is no reason to fail.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    from kfix.report.terminal import guard_streams

    guard_streams()
    try:
        from kfix.cli.app import app
    except KeyboardInterrupt:
        # Before the error boundary is there; nothing has begun.
        raise SystemExit(130) from None
    app()


if __name__ == "__main__":
    main()
