"""History: transitions between runs, episodes of findings, and what many audits show together."""
