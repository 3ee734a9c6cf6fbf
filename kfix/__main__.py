"""`python -m kfix` and the `kfix` command."""

from __future__ import annotations

import os


def main() -> None:
    # 0 is what some terminals and CI systems say for "unknown"; taken as a width nothing would be printed.
    if os.environ.get("COLUMNS") == "0":
        del os.environ["COLUMNS"]
    try:
        from kfix.cli.app import app
    except KeyboardInterrupt:
        # Before the error boundary is there; nothing has begun.
        raise SystemExit(130) from None
    app()


if __name__ == "__main__":
    main()
