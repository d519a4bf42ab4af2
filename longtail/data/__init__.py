"""Files to Corpus to batches."""
