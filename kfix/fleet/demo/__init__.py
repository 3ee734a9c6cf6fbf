"""Synthetic clusters, and a demo fleet of them."""
