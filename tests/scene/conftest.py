"""Property tests draw the same examples in every run, and take the time that a busy machine needs."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
