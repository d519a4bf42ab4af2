"""Training of ELIAS."""
