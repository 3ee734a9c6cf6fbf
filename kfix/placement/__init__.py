"""Where replicas should lie: pure, deterministic answers from a description of the cluster."""
