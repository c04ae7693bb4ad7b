"""The command line, one module per command. `main.py` reads the words and loads a command's module when it is used."""
