"""The inventory: `fleet.yaml`, or a folder of client properties, read strictly into the model's `Inventory`."""
