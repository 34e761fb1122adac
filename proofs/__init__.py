"""Why it holds: theorems as data, and the solver that checks them."""
