"""Trained models: saved, opened, asked."""
