"""Transforms by one-parameter groups exp(tX) with generators of their own."""
