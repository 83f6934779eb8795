"""Contacts, decided in plain Python: which points touch, how they give way, what an impact leaves."""
