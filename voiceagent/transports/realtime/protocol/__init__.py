"""The events of the OpenAI Realtime API, read and written, and what is wrong with them. Pure."""
