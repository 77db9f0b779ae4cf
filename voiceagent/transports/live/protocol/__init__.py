"""Events and settings of the Live API. Pure: no I/O, no clock."""
