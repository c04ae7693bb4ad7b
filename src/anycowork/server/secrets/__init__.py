"""Keeps keys and tokens: in the keyring where there is one, else in a file that only the owner reads."""
