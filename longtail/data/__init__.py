"""Files to Corpus: `load` reads every known format, `write` writes two of them, `describe` summarises a corpus."""
