"""Training of encoders, in torch: the counterpart of X.py is learn/X.py."""
