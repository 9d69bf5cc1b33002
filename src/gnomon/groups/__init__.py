"""Positional encodings as one-parameter groups exp(tX): generators, classes, realisations."""
