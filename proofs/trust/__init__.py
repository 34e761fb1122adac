"""Why a proof is believed: a second solver, other seeds, exhaustive small cases, and hypotheses that are all needed."""
