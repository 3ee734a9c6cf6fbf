"""An audit as one HTML page that works offline: no address in it is ever fetched, and its policy forbids it to."""
