"""Voice activity detection, batched for all calls, and end-of-turn detection."""
