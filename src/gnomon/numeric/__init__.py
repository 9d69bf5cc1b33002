"""What the array standard lacks: routes of kernels and their threads, phases in two limbs."""
