"""What a command line would run: parsed with bash's grammar, without running it."""
