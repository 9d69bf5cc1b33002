"""Rotary encodings from the config of a model."""
