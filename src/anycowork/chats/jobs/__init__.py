"""What people do with a chat's jobs: start, decide, keep or drop their changes."""
