"""Strict validation of settings: every error is one line that names the setting."""
