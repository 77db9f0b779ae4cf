"""Benchmarks of a server on this machine, with a given configuration."""
