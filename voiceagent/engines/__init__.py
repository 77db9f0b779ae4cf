"""Engines that a configuration can choose: catalogue, construction, start and end."""
