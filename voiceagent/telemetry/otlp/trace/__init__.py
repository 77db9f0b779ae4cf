"""Data model of a call's trace: spans, attributes, and the header by which other services join the trace."""
