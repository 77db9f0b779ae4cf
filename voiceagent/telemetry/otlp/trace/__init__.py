"""What a call has for a trace: spans, what they tell, and the header by which others join. Pure."""
