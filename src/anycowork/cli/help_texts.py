"""What `--help` says of the commands in main.py. Groups of commands have theirs beside them."""

SERVE_HELP = """Serve the workplace on this machine.

Examples:

\b
    anycowork serve --workspace ~/notes
    anycowork serve --port 9000 --no-open
    ANYCOWORK_TOKEN=… anycowork serve --host 0.0.0.0
    ANYCOWORK_DATABASE_URL=postgresql://… anycowork serve
"""

WORKER_HELP = """Join a server over HTTP and run commands of its jobs' tasks, or join its PostgreSQL database and run whole jobs.

With --join the worker needs the server's address and a join token, and nothing else: the workspace travels by content, and models,
approvals and merges stay on the server. Make a token with `anycowork workers invite`.

With --db or ANYCOWORK_DATABASE_URL it runs whole jobs. Workspaces must have the same path there as on the servers (a shared file system), and
config.toml and the folder of roles must be the same; jobs that do not fit are left to others. Ctrl-C lets it leave.

Examples:

\b
    ANYCOWORK_DATABASE_URL=postgresql://… anycowork worker
    anycowork worker --db postgresql://anycowork@db.example/anycowork --jobs 2
    anycowork worker --join https://team.example --token ac-join-… --labels gpu
    anycowork jobs workers
"""

RUN_HELP = """Run one request headless, for scripts and CI.

The answer goes to stdout, progress to stderr. It never hangs, and never approves anything for you:
a request that needs a person stays open, and the last lines say how to decide.

Exit codes: 0 done, 1 failed, 2 usage, 3 parked (needs a person), 4 limit, 5 provider, 130 stopped.

Examples:

\b
    anycowork run "What does this project do?" --workspace ~/project
    anycowork run "Plan a clean-up of the notes" --role planner > plan.json
    anycowork run "Clean up the notes" --approved-plan plan.json
    anycowork run "/explain_code src/app.py"
    anycowork run --job --parallel 4 --review "Write the guide"
    anycowork run - < request.txt
    anycowork run "List the open TODOs" --json | jq .type
"""

CHAT_HELP = """Chat in the terminal, with plans, questions, approvals and diffs.

It uses the running server, or starts one for as long as you stay. The chat is kept, and is on the web page, too.

Examples:

\b
    anycowork chat
    anycowork chat --role planner --workspace ~/project
    anycowork chat --continue
"""

ACP_HELP = """Serve an editor over the Agent Client Protocol, on stdin and stdout.

The editor starts it. It joins the running server, or starts one for as long as the editor stays; the chats are on the web page too.
A session works in the editor's folder, if that lies in a registered one. --workspace registers a folder.

Examples:

\b
    anycowork acp
    anycowork acp --workspace ~/projects
"""

IMPORT_HELP = """Import chats that were stored elsewhere.

Everything readable is kept as it is; anything else is listed, and the exit code is 1. Importing a file twice changes nothing.
The server must not be running.

Example:

\b
    anycowork import old-chats.json more-chats.jsonl
"""

CHATS_HELP = """List the chats, newest first: id, last change (UTC), state, title, folder, and who sees it unless everyone does.

`anycowork chat CHAT_ID` opens one, `anycowork export CHAT_ID` writes it to a file.

Examples:

\b
    anycowork chats
    anycowork chats --archived
    anycowork chats --json | jq -r '.contexts[].id'
    anycowork chats visibility CHAT_ID
    anycowork chats visibility CHAT_ID group:design
"""

SEARCH_HELP = """Search what people and agents wrote, in all chats, newest first.

All words must occur; "words in quotes" must follow each other. The last word may be unfinished. Exit code 1 if nothing is found.

Examples:

\b
    anycowork search sqlite index
    anycowork search '"full disk"' --limit 5
    anycowork search budget --json | jq .results
"""

USAGE_HELP = """Say what models were used for, and what that cost.

Days are in UTC; a turn counts on the day it began. Requests of other programs to /v1 are counted with their keys. A cost followed by
+ leaves out requests whose price is not known.

Examples:

\b
    anycowork usage
    anycowork usage --by role --since 2026-11-01
    anycowork usage --by job --json | jq .rows
"""

EXPORT_HELP = """Export a chat: its messages, plans against what was done, diffs, and the end of its audit chain.

It goes to stdout, or to a file; `anycowork chats` lists the ids. `json` can be imported again; `html` is one page that needs nothing else.

Examples:

\b
    anycowork export CHAT_ID > chat.md
    anycowork export CHAT_ID --format html --output report.html
"""

INSTRUCTIONS_HELP = """Show the instructions that a folder brings for agents (AGENTS.md), and whether they are used.

They are used in the folder's chats once you have trusted their content; after a change you are asked again. The text goes to stdout, the rest to
stderr. You trust them by the hash of what you have read, so that nothing else can take its place.

Examples:

\b
    anycowork instructions --workspace ~/project
    anycowork instructions --trust 3f2a9c1b77d04e5f8a06c1d2b39e7f58
    anycowork instructions --distrust
"""

VERIFY_HELP = """Repeat the check that a receipt stands for.

A turn whose work was checked has a receipt: the command, its exit code, and the hash of every file that it could read. It can be repeated
on any machine that has the files. The command runs in the sandbox; nothing that it writes is kept.

Exit codes: 0 same, 1 different, 2 usage, 3 cannot be run here.

Examples:

\b
    anycowork verify receipt.json
    anycowork verify receipt.json --workspace ../clone
    anycowork verify 9f86d081884c7d65…
"""

AGENTS_HELP = """List the agents that jobs can use: their role and their model.

Agents are set up on the page (Settings, Agents) or in config.toml under [agents.NAME]; planner and worker are always there.
"""
