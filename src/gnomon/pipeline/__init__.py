"""The main job: corpus -> counts -> geometry -> what of it can be trusted -> encodings."""
