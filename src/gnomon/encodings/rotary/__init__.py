"""Rotary encodings: queries and keys are turned by angles proportional to their positions."""
