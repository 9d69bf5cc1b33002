"""Rules in which content decides: learned clocks, paths, counted tokens."""
