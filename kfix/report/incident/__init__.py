"""The post-mortem of an incident: one page of HTML, Markdown, JSON, all made of `IncidentReport`."""
