"""The parts of `gpu_proof.py`: its plan, the engines that it starts, and what is measured on them."""
