"""`python -m kfix` and the `kfix` command."""

import io
import os
import sys


def _open_closed_streams() -> None:
    """Opens /dev/null for each standard stream that the shell closed (`>&-`).

    Otherwise the next opened file would get descriptor 0, 1 or 2, and terminal output would be written to it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            # `open` uses the lowest free descriptor, and the lower ones are already open.
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY), True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def main() -> None:
    if sys.platform != "linux":
        raise SystemExit(f"kfix runs on Linux only, not on {sys.platform}: use a Linux host or a container")
    _open_closed_streams()
    # Some terminals and CI systems set 0 for "unknown"; used as a width, nothing would be printed.
    if os.environ.get("COLUMNS") == "0":
        del os.environ["COLUMNS"]
    # Characters that the encoding of the terminal lacks are escaped instead of an error.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    from kfix.front.terminal import guard_streams

    guard_streams()
    try:
        from kfix.shell.app import app
    except KeyboardInterrupt:
        # The error boundary is not loaded yet, and nothing has started.
        raise SystemExit(130) from None
    app()


if __name__ == "__main__":
    if not __package__ and not sys.flags.safe_path:
        # Run as a file, as spark-submit does: Python would look in this folder for its own modules, such as `inspect`.
        del sys.path[0]
    main()
