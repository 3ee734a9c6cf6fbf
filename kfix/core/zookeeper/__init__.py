"""ZooKeeper: bulk reads with a client that cannot write; the one fenced write and the lock go through kazoo."""
