"""One package per outside system.

Each converts it to the frozen dataclasses of the model, or raises one clear error.
"""
