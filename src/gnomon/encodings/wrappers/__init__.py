"""Encodings made of other encodings."""
