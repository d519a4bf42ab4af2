"""Resumable runs and the only training loop."""
