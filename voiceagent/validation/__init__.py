"""Reads settings strictly: what is wrong with one is said in a line that names it."""
