"""A broker's log directory, read from its disk: one file a format. Everything here opens files for reading only."""
