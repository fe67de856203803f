"""`python -m pencil` is the command `pencil`."""

from pencil.cli import main

if __name__ == "__main__":
    main()
