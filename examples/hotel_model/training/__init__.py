"""Training of the demo model: network, batches, optimizer, checkpoints. Needs torch."""
