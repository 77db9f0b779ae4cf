"""Which process gets work, how much is under way, when one is hung, and is started again. Pure."""
