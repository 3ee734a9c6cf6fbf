"""Incidents that cut the network of a lab with zones: one file each, with the cast and the isolation they share."""
