"""Log and Prometheus metrics of the server."""
