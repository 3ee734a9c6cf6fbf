"""TLS of client connections: key and trust stores, the settings made of them, and what a failure means."""
