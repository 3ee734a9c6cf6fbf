"""Many clusters at once: judging a stored run with all cores, and synthetic clusters to try it on."""
