"""Training of rankers, in torch: the counterpart of X.py is learn/X.py."""
