"""A bench for the tests: one small mistake at a time, made in a copy, and which tests notice it."""
