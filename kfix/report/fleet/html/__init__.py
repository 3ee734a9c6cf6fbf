"""An audit as one HTML page that works offline: no address in it is ever fetched, and its policy forbids it to."""

from kfix.report.fleet.html.page import render_html

__all__ = ["render_html"]
