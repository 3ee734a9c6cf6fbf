"""Reading ZooKeeper in bulk with a client that cannot write; through kazoo the one fenced write, and the lock."""
