"""Incidents that cut the network of a lab with zones: one file each, with the roles and the isolation they share."""
