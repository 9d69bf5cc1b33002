"""Encodings whose vectors are added to embeddings."""
