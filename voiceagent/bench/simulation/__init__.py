"""Discrete-event simulation of calls over a cluster, with the server's own policies."""
