"""The command line, one module per command. `main.py` parses the arguments and imports a command's module when it is used."""
