"""An audit as one HTML page that works offline. It fetches nothing, and its content security policy forbids it."""
