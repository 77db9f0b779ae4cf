"""Gateways: servers behind one load balancer, and the state they share in Redis."""
