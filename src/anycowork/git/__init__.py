"""The git repository of a workspace: state, difference, commit, new branch, worktree, push. Obeys no configuration that the repository brings."""
