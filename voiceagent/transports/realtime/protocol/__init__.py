"""Events of the OpenAI Realtime API: parsing, encoding, validation errors."""
