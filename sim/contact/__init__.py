"""Contacts, decided at events: one problem on two levels (impacts, accelerations), its solver, and impacts."""
