"""Simulations: the loop, what it records, its checks and its checkpoints."""
