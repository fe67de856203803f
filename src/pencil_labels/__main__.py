"""`python -m pencil_labels` is the command `pencil`."""

from pencil_labels import main

if __name__ == "__main__":
    main()
