"""The Live API as the core of calls: its events, translated to and from those of the Realtime API. Pure."""
