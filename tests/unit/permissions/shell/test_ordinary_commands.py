"""What the small grammar costs: of ordinary commands, how many are understood, and how many a rule with ` *` covers."""

from anycowork.domain.rules import Effect, Rule, RuleScope
from anycowork.permissions.resources import AccessedResources
from anycowork.permissions.rules import RuleDecision, RuleIndex, decide
from anycowork.permissions.shell.options import verbs
from anycowork.permissions.shell.parser import parse
from support.spec import proves

# One a line, as developers and models write them. A "\n" is written out.
ORDINARY = r"""
ls -la
ls -la src tests
ls *.py
cat README.md
cat src/app.py | head -50
head -n 20 log.txt
tail -100 server.log
wc -l src/*.py
pwd
cd src && ls
mkdir -p build/out
rm -rf build
rm -f *.pyc
cp -r src backup
mv a.txt b.txt
touch new.py
chmod +x run.sh
du -sh .
df -h
which python3
echo "hello world"
echo $HOME
date
env
printenv PATH
find . -name '*.py'
find . -type f -name "*.ts" -not -path "./node_modules/*"
find . -name '*.log' -mtime +7 -print
find src -name '*.py' | xargs grep -n TODO
find . -type f | wc -l
find . -name '*.pyc' -exec rm {} +
grep -rn "TODO" src
grep -rn --include='*.py' 'def main' .
grep -c foo file.txt
grep -E 'a|b' file | sort | uniq -c | sort -rn | head
rg -n "pattern" src
rg --files -g '*.md'
sed -n '1,50p' src/app.py
sed -n 10,20p file
sed -i 's/foo/bar/g' src/app.py
sed 's/a/b/; s/c/d/' file
sed -e 's/x/y/' -e '/^#/d' file
awk '{print $1}' file
awk -F: '{print $1, $3}' /etc/passwd
awk 'NR > 1 {sum += $2} END {print sum}' data.txt
sort -u names.txt
sort -k2,2n -t, data.csv
cut -d, -f1,3 data.csv
tr a-z A-Z < in.txt
diff -u a.txt b.txt
jq '.name' package.json
cat package.json | jq -r '.scripts | keys[]'
tar -czf out.tar.gz src
tar xzf archive.tar.gz -C /tmp/x
tar -tf archive.tar.gz
unzip -l file.zip
zip -r out.zip src
curl -s https://example.org/api
curl -sSfL -o file.tgz https://example.org/file.tgz
curl -X POST -H 'Content-Type: application/json' -d '{"a":1}' http://localhost:8000/x
wget -q https://example.org/a
git status
git status --short
git log --oneline -10
git log -p -- src/app.py
git log --since='2 weeks ago' --author=ann
git diff
git diff --stat HEAD~1
git diff --cached
git diff main...HEAD -- src
git show HEAD
git show HEAD:src/app.py
git add .
git add -A
git add src/app.py tests/test_app.py
git commit -m "Fix the parser"
git commit -am 'wip'
git commit --amend --no-edit
git push
git push -u origin main
git push origin HEAD
git pull --rebase
git fetch --all --prune
git checkout main
git checkout -b feature/x
git switch -c feature/y
git restore src/app.py
git branch -a
git branch -d old
git stash
git stash pop
git stash show -p stash@{0}
git merge --no-ff feature/x
git rebase main
git rebase --continue
git reset --hard HEAD~1
git cherry-pick abc123
git tag -a v1.0 -m 'v1.0'
git remote -v
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git blame -L 10,20 src/app.py
git grep -n pattern
git ls-files
git clone --depth 1 https://example.org/a.git
git clean -fdx
git describe --tags --always
git -C sub status
git --no-pager log -3
git add -A && git commit -m "x" && git push
npm install
npm ci
npm test
npm run build
npm run lint -- --fix
npm install --save-dev typescript
npm ls --depth=0
npx tsc --noEmit
yarn install --frozen-lockfile
yarn build
pnpm install
node script.js
node --version
tsc --noEmit -p .
eslint src --fix
prettier --check .
pip install -r requirements.txt
pip install -e .
pip list
python --version
python script.py
python -m pytest -q
python3 -m venv .venv
python -m http.server 8000
python -c 'print(1 + 1)'
pytest
pytest -q
pytest -x -k "name and not slow" tests/unit
pytest tests/test_app.py::test_main -vv
ruff check . --fix
ruff format .
mypy --strict src
uv pip install -r requirements.txt
uv run pytest
cargo build
cargo build --release
cargo test
cargo test -- --nocapture
cargo clippy --all-targets
cargo fmt --check
cargo run --bin app
go build ./...
go test ./... -run TestX -v
go vet ./...
go mod tidy
make
make -j4
make build
make test ARGS="-k x"
cmake -B build -S .
docker ps -a
docker compose up -d
docker build -t app .
docker logs -f web
kubectl get pods
terraform plan
gradle test
./gradlew build
./run.sh
mvn -q test
dotnet test
bundle exec rspec
CI=1 npm test
NODE_ENV=production npm run build
FOO=bar make
PYTHONPATH=src pytest -q
timeout 60 pytest -q
time make
nohup python server.py > log.txt 2>&1 &
sleep 1 && curl -s localhost:8000/health
ps aux | grep node
kill 1234
for f in *.py; do echo "$f"; done
if [ -f a ]; then cat a; fi
[ -f a ] && cat a
test -d build || mkdir build
echo "x" > out.txt
cat > notes.txt <<'EOF'\nline $x\nEOF
cat <<EOF > x\n$HOME\nEOF
python - <<'EOF'\nprint(1)\nEOF
export NODE_ENV=test
echo $(git rev-parse HEAD)
git log --format='%h %s' -n 5
VERSION=$(cat VERSION) && echo $VERSION
ls | while read f; do echo $f; done
(cd sub && make)
git diff --name-only | xargs ruff check
which node && node --version
xargs -0 -n1 ls < list
mkdir -p a/{b,c}
set -euo pipefail\nmake build\nmake test
cd sub && npm test 2>&1 | tail -20
pytest -q 2>&1 | tee out.log
bash -c 'ls && pwd'
"""
COMMANDS = [line.replace("\\n", "\n") for line in ORDINARY.strip().splitlines()]


@proves("APR-3")
def test_most_ordinary_commands_are_understood_so_that_always_can_be_offered() -> None:
    asked = [text for text in COMMANDS if not _allowed_by(text, text)]
    assert len(COMMANDS) > 200
    assert len(asked) / len(COMMANDS) < 0.06, asked


def test_rules_with_a_star_cover_most_of_what_is_usual_for_programs_in_the_tables() -> None:
    known = [text for text in COMMANDS if (parts := parse(text).parts) and all(part.name in verbs() for part in parts)]
    asked = [text for text in known if not _allowed_by(text, *(f"{part.name} *" for part in parse(text).parts), "/**")]
    assert len(known) > 150
    assert len(asked) / len(known) < 0.07, asked


def _allowed_by(text: str, *patterns: str) -> bool:
    parsed = parse(text)
    touched = AccessedResources("execute_command", paths=tuple(f"/{path}" for path in parsed.writes), command=parsed)
    rules = [Rule(one, "execute_command", one, Effect.ALLOW, RuleScope.GLOBAL) for one in patterns]
    return decide(touched, RuleIndex(rules), default=RuleDecision(Effect.ASK, None, "")).effect is Effect.ALLOW
