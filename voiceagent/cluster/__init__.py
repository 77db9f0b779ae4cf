"""Gateways: servers that take calls behind one load balancer, and what they share in a Redis."""
