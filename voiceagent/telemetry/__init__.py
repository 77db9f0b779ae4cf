"""What the server tells about itself: its log, and numbers for Prometheus."""
