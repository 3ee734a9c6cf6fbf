"""Reads the inventory, `fleet.yaml` or a folder of client properties, strictly into the model's `Inventory`."""
