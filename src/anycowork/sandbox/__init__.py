"""Commands as transactions: bubblewrap, Landlock and seccomp around them, the delta they make, and its commit."""
