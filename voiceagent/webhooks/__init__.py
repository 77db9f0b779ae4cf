"""Posts signed events to a configured URL when calls begin and end, with retries, without delaying calls."""
