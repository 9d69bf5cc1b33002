"""What the array standard lacks: threads of kernels, positions in limbs, exact words, checks."""
