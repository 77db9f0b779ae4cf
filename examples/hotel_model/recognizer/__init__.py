"""Resources of the demo's recognizer: phrases, a language model, and recordings for adaptation."""
