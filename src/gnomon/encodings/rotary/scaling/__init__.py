"""Scalings of rotary encodings: values that change the frequencies for longer contexts."""
