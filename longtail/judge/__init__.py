"""Evaluation of models, and tuning on validation documents after training."""
