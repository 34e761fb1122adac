"""Engines run side by side, replayed and explored, and what is told of it."""
