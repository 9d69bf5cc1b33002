"""From texts to token ids; `tokenizers.open_tokenizer` is the way in."""
