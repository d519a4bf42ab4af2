"""Encoders while they learn, in torch: the learning twin of X.py is learn/X.py."""
