"""Providers that place calls: a file for each, with its request and its status webhooks."""
