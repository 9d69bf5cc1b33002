"""Is it what it says: certificates for encodings, functions, modules and models."""
