"""Healing: from a finding or a request to a plan, and from a plan to its proof."""
