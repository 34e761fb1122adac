"""One deployment judged: predictions, the prompts that are run, the verdict and its repairs."""
