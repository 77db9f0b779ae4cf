"""Who may call, and how many at once."""
