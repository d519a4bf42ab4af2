"""Which labels are worth scoring."""
