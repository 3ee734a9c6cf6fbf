"""Folders that tests of every depth read: the root of the repository, and the golden files."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
