"""The post-mortem of an incident as HTML, Markdown and JSON, all rendered from `IncidentReport`."""
