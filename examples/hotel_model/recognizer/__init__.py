"""What the demo's recognizer is given: phrases, a language model, recordings to learn voices from."""
