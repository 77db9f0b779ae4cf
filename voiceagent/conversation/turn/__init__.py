"""The caller's turn: its phases, the words it is understood to say, and how long the pause in it may be."""
