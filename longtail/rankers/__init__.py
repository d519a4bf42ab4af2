"""How well each shortlisted label fits."""
