"""The git repository of a workspace: state, difference, commit, new branch. Obeys no configuration that the repository brings."""
