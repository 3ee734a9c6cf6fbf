"""Where replicas should be placed: pure, deterministic answers from a description of the cluster."""
