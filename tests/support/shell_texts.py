"""Makes command lines at random: usual ones, and every construct of bash that can hide a command. The same seed makes the same texts."""

import random

# fmt: off
_PIECES = (
    "a", "b", "c", "rm x", "a b", "b c", " ", " ", " ", ";", "&&", "||", "|", "&", "(", ")", "{ ", "; }", "$(", "`", '"', "'", "\\", "<", ">",
    ">>", "#", "!", "*", "?", "~", "=", "\n", "[", "]", "-", "$", "${", "}", "<<a\n", "<<'a'\n", '<<"a"', "\na\n", "<<<", "<(", ">(", "$((",
    "))", "$'", '$"', "&>", "|&", "1", "2>", "12>", "2>&1", "@", "()", "\t", "a=", "[[ ", " ]]", ",", "%", "+", "a()", "\\ ", "$X", "\\\n",
    " \\\n", "<<-a\n", "{a,rm x}", "a[", "$?", "$IFS", "time ", "! ", "-v ", "--", "<&", ">|", "{}", "..", "}", "{", "^", "!!", ":-", "$X[", "E",
    "$[", "coproc ", ";;", "=(", "+=", "{v}>", "\r", "\x0b", "\x0c", "\x01", "\x7f", "\u00a0", "\u2028", "\ufeff", "\u0130", "\udcff", "é", "|\n",
    "\\\t", "\\'", '\\"', "''", '""', "$''", "~+", "~-", "if ", "then ", "fi", "do ", "done", "esac", "in ", "function ", "case ",
)
_NAMES = (
    "a", "b", "ls", "git", "echo", "printf", "test", "[", "read", "let", "declare", "typeset", "export", "readonly", "local", "unset", "mapfile",
    "readarray", "wait", "eval", "source", ".", "trap", "exec", "coproc", "command", "builtin", "alias", "set", "shopt", "cd", "true", ":",
    "getopts", "hash", "env", "nohup", "nice", "sh", "bash", "time", "xargs", "pushd", "type", "exit", "return", "shift", "[[", "((", "if", "for",
    "while", "case", "function", "!", "{", "select", "until", "enable", "ulimit", "dirs", "jobs", "help", "complete", "compgen", "history", "fc",
)
_HOSTILE = (
    "a[$(rm x)]", "$(rm x)", "`rm x`", "${X:-$(rm x)}", "${X@P}", "$((a[$(rm x)]))", "<(rm x)", "{rm,x}", "$'rm'", "x;rm x", "rm x", "!rm",
    "a[$(rm x)]=1", "PATH=.", "$X", "$Y", "${Z}", "*", "?", "~", "[a-z]*", "@(rm)", "+(a)", "!(a)", "-v", "-p", "-n", "-a", "-R", "-c", "-x", "%n",
    "=rm", "-o", "-e", "a", "b", "1", "]", "=", "-eq", "-f", "-z", "!", "(", ")", "-d", "-t", "$", "\\$(rm x)", "a\\", "#", "a#b", "{}", "x{1..3}",
    "\"$(rm x)\"", "'$(rm x)'", "\"$X\"", "'a b'", "\"a'b\"", "a\\ b", "''", '""', "--", "-", "$?", "$#", "$@", "$!", "$0", "$_", "x=1", "A=1",
    "$[a[$(rm x)]]", "${a[$(rm x)]}", "${!Z}", "${Z@E}", "${X//a/$(rm x)}", "${X^^}", "${#X}", "${X:$(rm x)}", "$\"`rm x`\"", "$'\\x72m'", "!!:p",
    "^a^rm^", "a=(x $(rm x))", ">(rm x)", "=(rm x)", "~root", "{a..$(rm x)}", "\\`rm x\\`", "\"\\`rm x\\`\"", "[[:alpha:]]*", "[!a]", "x\u00a0rm",
)
_USUAL_NAMES = (
    "a", "b", "ls", "git", "echo", "printf", "test", "[", "cd", "true", "export", "command", "env", "nohup", "sh", "time", "set", "wait", "xargs",
)
_USUAL_WORDS = (
    "a", "b", "-x", "'a b'", '"$X"', "$X", "*", "a\\ b", '"a$"', "''", "x=1", "\"a'b\"", "--", "{}", "a{b", "~", "-f", "=", "]", "2",
    "'$(rm x)'", "é", "a?", "a*$X",
)
_USUAL_ENDS = ("", "", "", " > f", " 2>&1", " < f", " <<'E'\n$(rm x)\nE", " <<< a", " &> f", " 2>/dev/null", " # rm x", ">f")
_USUAL_JOINS = (" ; ", ";", " && ", "||", "|", " | ", "\n", " \\\n", " # c\n", ";\n\n", " &&\n")
_JOINS = (
    " ; ", ";", " && ", " || ", " | ", "\n", " & ", " |& ", "&&", "|", " ;\n", " && \n", " # c\n", " \\\n", "\\\n", " ; # rm x\n", ")", "(", "\r\n",
    " |\n", " ||\n#\n", ";;", " \\\n\\\n", "\n\n#'\n", " #\\\n", "\v", "&\n",
)
_ENDS = (
    "", "", "", "", " > f", " >> f", " < f", " 2>&1", " 2>/dev/null", " &> f", " >&2", " 2> f", " <<< a", " <<<$\n rm x", " <<< $X", " <<< $(rm x)",
    " <<'E'\n$(rm x)\nE", " <<E\n$(rm x)\nE", " <<E\n`rm x`\nE", ' <<"E"\nrm x\nE\n', " <<-'E'\n\trm x\n\tE\n", " <<'E'\nE\nrm x\nE", " <<\\E\nE\n",
    " <<'E' <<'F'\nE\nrm x\nF\n", " >f rm", " 12>f", " {v}>f", " >|f", " <>f", " 3<&0", " >&-", " > 'a b'", " >f<f", " <<'E' | b\nx\nE\n",
    " <<'E' && b\nx\nE\nc", " <<'E'\nx\nE ", " <<'E'\nx", " <<''\nrm x\n\n", "<f", ">f", " 2>f 1>f", " <<<'a b'", " <<'E'#\nE\n", " < <(rm x)",
    " <<'E'F\nx\nEF\nrm x", " <<'E\n'\nx\nE\n\nrm x", " <<E''\n`rm x`\nE", " <<'E'\nx\n E\nrm x\nE", " <<'E';b\nE\n", " >&f", " &>>f", " 2>&1 rm",
    " <<'E' # c\nE\nb", " <<'E' \\\n\nE\nb", " 1<<'E'\n`rm x`\nE", " <<'E'\r\nE\r\nrm x", " >$X", " >{a,b}", " <<<{a,b}", " <<<\"`rm x`\"", " 8>f",
    " 9<f",
)
# Each construct contains a command; `%` stands for it.
_CONSTRUCTS = (
    "a() { %; }; a", "function a { %; }; a", "a() ( % )\na", "alias a='%'\na", "shopt -s expand_aliases\nalias a='%'\na", "coproc %",
    "coproc N { %; }",
    "if %; then b; fi", "if b; then %; else %; fi", "while %; do break; done", "until %; do break; done", "for i in 1; do %; done",
    "for ((i=0;i<1;i++)); do %; done", "case a in a) %;; esac", "case $(%) in *) b;; esac", "select i in a; do %; break; done", "( % )", "{ %; }",
    "! %", "time -p %", "time %", "% &", "% & wait", "a <(%)", "a >(%)", "a \"$(%)\"", "a \"`%`\"", "a $(%)", "a `%`", "a ${W:-$(%)}",
    "a ${W:=`%`}",
    "a $((1+$(%)))", "a $[$(%)]", "((a[$(%)]))", "[[ -v a[$(%)] ]]", "[[ a =~ $(%) ]]", "[[ $(%) ]]", "let 'a[$(%)]=1'", "a=(1 $(%))", "a[$(%)]=1",
    "declare -a 'a=([$(%)]=1)'", "eval '%'", "eval \"%\"", "trap '%' EXIT", "trap '%' DEBUG; a", "source <(echo '%')", ". /dev/stdin <<< '%'",
    "sh -c '%'", "bash -c \"%\"", "env sh -c '%'", "sh <<< '%'", "bash <<'E'\n%\nE", "sh -s <<'E'\n%\nE", "echo '%' | sh", "echo '%' | bash -s",
    "xargs sh -c '%' <<< a", "exec %", "command %", "builtin eval '%'", "nohup %", "nice %", "env A=1 %", "env -i %", "nice -n 5 %", "A=1 %",
    "X=$(%) a",
    "PROMPT_COMMAND='%' a", "PS4='$(%)' bash -xc a", "ENV=x sh -c '%'", "test -v 'a[$(%)]'", "printf -v 'a[$(%)]' 1", "read 'a[$(%)]' <<< 1",
    "mapfile -C '%' -c 1 a <<< x", "complete -C '%' a", "hash -p /bin/rm a; a", "enable -n echo; echo", "set -- x; %", "cd . && %", "a | % | b",
    "a |& %", "a; %", "a\n%", "a &&\n%", "a \\\n; %", "a # '\n%", "a '#'\n%", "a \"\n\"; %", "a\\\n; %", "'a' '\n' && %", "a ''\"\"; %",
    "sh -ec '%'",
    "sh -c -- '%'", "bash --norc -c '%'", "bash -O extglob -c '%'", "bash +e -c '%'", "bash -o errexit -c '%'", "sh -c '%' a b",
    "sh -c 'sh -c \"%\"'",
)
_CONTAINED = (
    "rm x", "rm  x", "'rm' x", "r\\m x", '"rm" x', "a", "echo a", "rm x; a", "true && rm x", "$'rm' x", "r''m x", "rm\tx", "A=1 rm x",
    "a\nrm x",
)
_ODD = (
    "\x01", "\x07", "\x1b", "\x7f", "\r", "\v", "\f", "\u0085", "\u00a0", "\u2003", "\u2028", "\u200b", "\ufeff", "\u3000", "\uff1b", "\udcff",
    "\udc80", "é",
)
# fmt: on


def random_text(chosen: random.Random) -> str:
    kind = chosen.random()
    if kind < 0.2:
        return "".join(chosen.choice(_PIECES) for _ in range(chosen.randint(2, 12)))
    if kind < 0.4:
        return _changed(chosen, _construct(chosen, chosen.choice((1, 1, 2, 3))), 0.3)
    text = _command(chosen)
    while chosen.random() < 0.4:
        text += _one_of(chosen, _USUAL_JOINS, _JOINS) + _command(chosen)
    return _changed(chosen, text, 0.15)


def _construct(chosen: random.Random, depth: int) -> str:
    inner = chosen.choice(_CONTAINED) if depth <= 1 else _construct(chosen, depth - 1)
    return chosen.choice(_CONSTRUCTS).replace("%", inner)


def _changed(chosen: random.Random, text: str, share: float) -> str:
    """Put a piece or an odd character somewhere into some of the texts."""
    if chosen.random() >= share:
        return text
    at = chosen.randint(0, len(text))
    put = chosen.choice(_PIECES if chosen.random() < 0.8 else _ODD)
    return text[:at] + put + text[at + chosen.randint(0, 1) :]


def _command(chosen: random.Random) -> str:
    words = [_one_of(chosen, _USUAL_NAMES, _NAMES)]
    for _ in range(chosen.choice((0, 1, 1, 2, 2, 3, 4))):
        words.append(_quoted(chosen, 2) if chosen.random() < 0.1 else _one_of(chosen, _USUAL_WORDS, _HOSTILE))
    if chosen.random() < 0.1:
        words.insert(
            0,
            chosen.choice(("A=1", "CI=1", "a[$(rm x)]=1", "A+=1", "X=$(rm x)", "A=~", "A=$X", "time", "time -p", "!")),
        )
    if chosen.random() < 0.1:
        words.insert(0, chosen.choice(("env", "nohup", "nice", "command", "sh -c", "bash -c")))
    return " ".join(words) + _one_of(chosen, _USUAL_ENDS, _ENDS)


def _quoted(chosen: random.Random, depth: int) -> str:
    """Make one word from pieces in different quotes, nested."""
    made = []
    for _ in range(chosen.randint(1, 3)):
        inner = (
            _quoted(chosen, depth - 1) if depth and chosen.random() < 0.4 else chosen.choice(_HOSTILE + _USUAL_WORDS)
        )
        form = chosen.choice(
            (
                "%",
                "'%'",
                '"%"',
                "\\%",
                "$'%'",
                '$"%"',
                "\"'%'\"",
                "'\"%\"'",
                "$(echo %)",
                "`echo %`",
                "${W:-%}",
                '"\\"%\\""',
            )
        )
        made.append(form.replace("%", inner))
    return "".join(made)


def _one_of(chosen: random.Random, usual: tuple[str, ...], hostile: tuple[str, ...]) -> str:
    """Mostly what is understood: a text is run only if all of it is."""
    return chosen.choice(hostile if chosen.random() < 0.2 else usual)
