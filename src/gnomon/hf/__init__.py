"""Encodings in models of Hugging Face: read, install, take out again."""
