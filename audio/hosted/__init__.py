"""Base of remote engines: API key, timeouts, retries."""
