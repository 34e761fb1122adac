"""What a user types, read into what the formulas and engines take, or refused in one line."""
