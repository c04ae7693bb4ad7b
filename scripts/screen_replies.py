"""The workspace that `screens.py` takes pictures of, and what the scripted model replies there."""

import json

from support.scripted_model import call

FILES = {
    "README.md": "# Weather station\n\nReads the sensor and writes a report every hour.\n",
    "config.toml": '[sensor]\nport = "/dev/ttyUSB0"\ninterval = 3600\n\n[report]\nformat = "text"\n',
    "station/report.py": "def report(values):\n    return '\\n'.join(str(value) for value in values)\n",
}
PLAN = {
    "type": "plan",
    "goal": "Let the station write its report as JSON, chosen in `config.toml`",
    "steps": [
        {
            "action": "Add `json` as a format in `config.toml`",
            "reason": "The format is read there already; nothing else has to know.",
            "paths": ["config.toml"],
            "tools_needed": ["write_files"],
            "estimated_time": "1 min",
        },
        {
            "action": "Write the report with `json.dumps` when that format is chosen",
            "reason": "The text format stays the default, so old stations go on as before.",
            "paths": ["station/report.py"],
            "tools_needed": ["write_files"],
            "estimated_time": "3 min",
            "dependencies": ["1"],
        },
        {
            "action": "Run the station once and look at its report",
            "commands": ["python -m station --once"],
            "tools_needed": ["execute_commands"],
            "estimated_time": "1 min",
            "dependencies": ["2"],
        },
    ],
    "risks": ["Whoever reads the report as text must be told before the format is switched."],
    "prerequisites": ["The sensor may be absent: the last value is used then."],
    "estimated_total_time": "5 min",
}
QUESTION = {
    "type": "question",
    "question": "The station also writes to `old_reports/`. What shall become of it?",
    "context": "Nothing in this folder has been read for a year.",
    "severity": "major",
    "options": [
        {"label": "Keep it", "value": "keep", "description": "Only new reports change."},
        {"label": "Convert it", "value": "convert", "description": "About 8,700 files; a minute of work."},
    ],
    "default": "keep",
    "allow_custom": True,
}
REVIEW = {
    "type": "review",
    "summary": "The change is small and does what the plan said. Two things are worth a look before it goes out.",
    "findings": [
        {
            "path": "station/report.py",
            "line": 7,
            "severity": "major",
            "problem": "A value that is not a number ends the report with an error.",
            "suggestion": "Write it as null and go on.",
        },
        {"path": "config.toml", "line": 6, "severity": "minor", "problem": "The comment still names one format only."},
    ],
}
EDIT = call(
    "update_file", path="config.toml", edits=[{"find": 'format = "text"', "replace": 'format = "json"  # or "text"'}]
)
BATCH = "\n".join(
    [
        EDIT,
        call("create_file", path="station/__main__.py", content="print(1)\n"),
        call("execute_command", command="ls -l"),
    ]
)
ANSWER = """The report is written as **JSON** now. What changed:

1. `config.toml` names the format; the text format stays the default.
2. `station/report.py` writes one object per hour.

```python
def report(values, form="text"):
    if form == "json":
        return json.dumps({"values": values, "unit": "°C"})
    return "\\n".join(str(value) for value in values)
```

| format | size of an hour | read by |
|---|---|---|
| text | 212 bytes | people |
| JSON | 268 bytes | the dashboard |
"""
CARRIED_OUT = [
    EDIT,
    call("update_file", path="README.md", edits=[{"find": "every hour", "replace": "every hour, as text or JSON"}]),
    "The station itself was not run.",
    "The station itself was not run: its sensor is absent.",
]
JOB = [EDIT, json.dumps({"status": "success", "summary": "The format can be chosen."}), "I write the report now."]
STEER = call("execute_command", command="echo 'Reports are JSON.' > AGENTS.md && echo kept")
FETCH = call(
    "execute_command", command="curl -sS https://sensors.example/list", network=["sensors.example", "cdn.example"]
)
DIAGRAM = """The sensor is read once an hour:

```mermaid
flowchart LR
  A[Read the sensor] --> B{Is it new?}
  B -->|yes| C[Write a report]
  B -->|no| D[Wait an hour]
  D --> A
```

Nothing else writes into the folder.
"""
THOUGHT = "The format is read in one place only. If the default stays text, nothing that exists can break."
