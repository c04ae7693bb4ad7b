"""`python -m anycowork`: the same as the command `anycowork`."""

from anycowork.cli.main import main

if __name__ == "__main__":
    main()
