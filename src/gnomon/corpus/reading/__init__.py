"""From places and formats to batches of documents; `resolve.open_source` is the way in."""
