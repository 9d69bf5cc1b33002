"""What the catalogue shows: cards that are chosen, and portraits."""
