"""A time line out of saved looks, journals of runs and entries of brokers' logs: pure, it reads no file."""
