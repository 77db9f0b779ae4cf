"""How probable it is that a turn is over: the words, the sound and the dialogue as witnesses. Pure."""
