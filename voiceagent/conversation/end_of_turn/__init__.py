"""The probability that a turn is over, from features of transcript, audio and dialogue."""
