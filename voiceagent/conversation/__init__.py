"""The pure core of a call: events in, commands and notices out; no clock, no loop, no socket."""
