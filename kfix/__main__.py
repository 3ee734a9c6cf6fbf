"""`python -m kfix` and the `kfix` command."""

from __future__ import annotations


def main() -> None:
    from kfix.cli.app import app

    app()


if __name__ == "__main__":
    main()
