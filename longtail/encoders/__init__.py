"""Documents and label texts to vectors."""
