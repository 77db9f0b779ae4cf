"""Measurements: what a server does on this machine with a given configuration."""
