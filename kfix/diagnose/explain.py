"""The documentation pages of findings, for `kfix explain`."""

from __future__ import annotations

from kfix_diagnostics.catalogue import find_page, page, pages

__all__ = ["find_page", "page", "pages"]
