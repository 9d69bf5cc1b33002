"""Logits in which queries and keys meet vectors of their lag."""
