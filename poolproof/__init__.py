"""Prove that a paged KV-cache pool sized at boot covers what admission requires, and check real engines against it."""
