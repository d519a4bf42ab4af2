"""The half of ELIAS that learns."""
