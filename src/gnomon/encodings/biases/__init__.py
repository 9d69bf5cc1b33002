"""Encodings that are added to the logits."""
