"""Where the parts meet: which adapter serves which question. The command line calls these; nothing below knows them."""
