"""The few hot loops, compiled; each has a plain twin in the tests."""
