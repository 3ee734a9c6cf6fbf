"""Several looks at one cluster, each from a place of its own, put together into one."""
