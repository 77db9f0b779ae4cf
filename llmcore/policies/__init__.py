"""What is decided about requests: who is next, who waits, which model, what is given up under load. Pure."""
