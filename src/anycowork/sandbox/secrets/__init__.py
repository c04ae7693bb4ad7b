"""Finds what a program may not read, covers it, and watches that the covers hold."""
