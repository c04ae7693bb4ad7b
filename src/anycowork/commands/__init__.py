"""What the words of the command line do, one module each. `cli.py` reads the words and loads a module when it is needed."""
