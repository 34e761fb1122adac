"""poolproof."""
