"""What callers of the demo ask and what they are answered, made of phrasings and facts."""
