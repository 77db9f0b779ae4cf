"""What models find in sound: a voice, for all calls in one run, and whether a turn is over."""
