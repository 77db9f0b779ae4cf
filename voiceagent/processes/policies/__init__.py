"""Policies for child processes: load balancing, flow control, liveness and restarts."""
