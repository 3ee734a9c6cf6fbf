"""Reading ZooKeeper in bulk with a client that cannot write, and the one fenced write, through kazoo."""
