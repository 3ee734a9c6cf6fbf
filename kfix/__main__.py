"""`python -m kfix` and the `kfix` command."""

from __future__ import annotations

import io
import os
import sys


def _open_closed_streams() -> None:
    """Gives a standard stream that the shell closed (`>&-`) to /dev/null, all that may be read or written there.

    Otherwise the next file that is opened becomes number 0, 1 or 2, and what is meant for the terminal goes into it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is taken, and the lower ones are open by now.
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY), True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def main() -> None:
    _open_closed_streams()
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
