"""Code shared by methods; a method imports from here and never from another method."""
