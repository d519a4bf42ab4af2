"""How good a model is, and what is chosen on validation documents after training."""
