"""Inverse dynamics of whole motions: from tables and recordings to torques."""
