"""Calls over a cluster, simulated by discrete events with the server's own policies."""
