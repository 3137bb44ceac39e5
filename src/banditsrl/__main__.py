"""What does `python -m banditsrl` do? The same as the command `banditsrl`."""

from banditsrl.cli import main

if __name__ == "__main__":
    main()
