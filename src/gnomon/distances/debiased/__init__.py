"""Distances with the sampling noise taken out: folds in, U products, class profile, low rank."""
