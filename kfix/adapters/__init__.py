"""One outside system a package: each turns it into the model's frozen dataclasses, or into one clear error."""
