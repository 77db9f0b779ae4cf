"""How the demo model is trained: the network, its batches, its optimizer, its checkpoints. Needs torch."""
