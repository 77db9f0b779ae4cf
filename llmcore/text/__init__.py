"""From a conversation to what a model reads, and from what it writes to the deltas of a reply."""
