"""Evaluation of the demo model on held-out questions, in writing and by voice."""
