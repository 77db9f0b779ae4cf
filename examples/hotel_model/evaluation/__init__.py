"""Asking the demo model the held-out questions, in writing and by voice."""
