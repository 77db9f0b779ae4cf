"""Tells a URL of the configuration when calls begin and end: signed, tried again, never in a call's way."""
