"""Encodings on disk: any of the catalogue as a `.safetensors` file."""
