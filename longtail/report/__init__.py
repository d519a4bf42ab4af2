"""Output for users: tables for the terminal, plots as PNG files."""
