"""Run the command line as `python -m poolproof`."""

from .cli import main

if __name__ == "__main__":
    main()
