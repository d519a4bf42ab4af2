"""Numbers for people: tables for the terminal, plots as PNG files."""
