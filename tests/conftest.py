"""What holds for all tests."""

from hypothesis import settings

# Machines are shared and noisy: how long an example takes says nothing about the code.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
