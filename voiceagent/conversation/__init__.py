"""The pure core of a call: events in, commands and notifications out; no clock, no loop, no socket."""
