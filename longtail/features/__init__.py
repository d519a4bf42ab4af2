"""Text to numbers, before any learning."""
