"""The words of the command line that come in groups: `workflow`, `model`, `audit`. What they do is in commands/, loaded when it is needed."""
