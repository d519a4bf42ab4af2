"""Files to Corpus: `load` reads every known format, `write` makes two of them, `describe` says what is inside."""
