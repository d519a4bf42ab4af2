"""The parts of `shared` that need torch."""
