"""`python -m anycowork`: the same as the command `anycowork`."""

from anycowork.cli import main

if __name__ == "__main__":
    main()
