"""Sidebands: second connections to calls that go on, for events without sound."""
