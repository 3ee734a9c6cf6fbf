"""What changed from one diagnosis to the next: pure functions over the model."""
