"""Spectra: Toeplitz kernels of encodings, their eigenvalues, and what coupling does to logits."""
