"""What several methods need; a method imports from here and never from another method."""
