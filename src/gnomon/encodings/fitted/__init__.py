"""Encodings fitted to a geometry, their files, and what is done past their end."""
