"""The commands a person types: check, explain, schema, version, status, and what errors look like."""
import json, os, pty, re, socket, subprocess

import jsonschema
import pytest
import yaml

from harness import BINARY, PASSED, ROOT, Proxy, command, eventually

SECRET = "c4nary-secret"
EXPLAINED = """
listen: 127.0.0.1:8080
upstreams:
  app: {url: "http://127.0.0.1:3000"}
credentials:
  token: {bearer: "${env:API_TOKEN}"}
rules:
  - name: static
    match: {extension: [png, css], method: [GET]}
    request: {set: {X-Static: "1"}}
  - name: api
    match: {path: /v1/**}
    credential: token
    request: {set: {X-Env: prod, X-Key: "${env:API_TOKEN}"}, remove: [X-Internal]}
    proxy: {upstream: app, strip_prefix: /v1, redirects: follow}
  - name: other
    match: {host: other.example.com}
    proxy: {upstream: app}
"""


def config(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return path


def test_version_names_the_program_and_its_version():
    done = command("version")
    assert done.returncode == 0 and re.match(r"authproxy \d+\.\d+\.\d+", done.stdout)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["check", "--help"], ["explain", "--help"], ["schema", "--help"],
                                       ["reload", "--help"], ["status", "--help"], ["version", "--help"]])
def test_help_is_there_for_every_command(arguments):
    done = command(*arguments)
    assert done.returncode == 0 and "authproxy" in done.stdout and not done.stderr
    assert all(len(line) <= 120 for line in done.stdout.splitlines())


def test_help_names_every_command():
    for name in ("run", "check", "explain", "schema", "reload", "status", "version"):
        assert re.search(r"^\s+%s\b" % name, command("--help").stdout, re.M), name


def test_a_mistyped_command_is_answered_with_the_right_one():
    done = command("chekc")
    assert done.returncode == 2 and "check" in done.stderr


# --- check --------------------------------------------------------------------

def test_check_accepts_the_shipped_configuration():
    done = command("check", "-c", ROOT / "config.yaml")
    assert done.returncode == 0, done.stderr


def test_check_reports_every_error_with_its_place_in_one_go(tmp_path):
    done = command("check", "-c", config(tmp_path, """listen: 127.0.0.1:8080
upstream: http://127.0.0.1:3000
timeots: {}
timeouts: {header: 10, keepalive: 5 minutes}
limits:
  header_bytes: 64k
  header_bytes: 16KiB
rules:
  - name: api
    match: {pathh: /v1/**, method: GET}
    request: {set: {"Bad Name": x}}
    proxy: {upstream: nowhere}
  - name: api
    match: {path_regex: "("}
    block: "yes"
"""))
    assert done.returncode == 2
    text = done.stdout + done.stderr
    lines = {int(number) for number in re.findall(r"config\.yaml:(\d+):\d+", text)}
    assert {3, 4, 6, 7, 10, 11, 12, 13, 14, 15} <= lines, text
    assert len(re.findall(r"did you mean", text, re.I)) >= 2
    for path in ("timeouts.header", "rules[0].match.pathh", "rules[0].proxy.upstream"):
        assert path in text.replace("rules.0.", "rules[0]."), text


@pytest.mark.parametrize("text, place, word", [
    ("upstream: demo\ntimeouts: {header: 10}\n", "2:20", "10s"),
    ("upstream: demo\nlimits: {body: 64k}\n", "2:16", "KiB"),
    ("upstream: demo\nrequest: {set: {X: \"${env:NOT_SET}\"}}\n", "2:21", "NOT_SET"),
    ("upstream: demo\nrequest: {set: {X: \"{request.hots}\"}}\n", "2:21", "request.host"),
    ("upstream: demo\nrequest: {set: {X: \"a\\r\\nb\"}}\n", "2:20", ""),
    ("upstream: demo\n<<: {workers: 1}\n", "2:1", "merge"),
    ("upstream: demo\nworkers: yes please\n", "2:10", "auto"),
    ("upstream: demo\nupstream: demo\n", "2:1", "duplicate"),
    ("upstream: demo\nhtml: {inject: [{at: top, html: x}]}\n", "2:22", "head_start"),
    ("upstream: demo\ncredentials: {x: {oauth2: {token_url: \"https://a\"}}}\n", "2:19", "not in this version"),
    ("upstream: demo\nrespond: {status: 200, body: \"${file:/etc/hostname}\"}\n", "2:", "secret"),
    ("upstream: demo\nresponse: {set: {X: \"${file:/etc/hostname}\"}}\n", "2:", "secret"),
    ("upstream: demo\nrequest:\n\tset: {}\n", "3:", ""),
])
def test_check_says_where_and_what(tmp_path, text, place, word):
    done = command("check", "-c", config(tmp_path, text))
    shown = done.stdout + done.stderr
    assert done.returncode == 2, shown
    assert "config.yaml:" + place in shown, shown
    assert word.lower() in shown.lower(), shown


def test_check_bounds_alias_bombs(tmp_path):
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join("a%d: &a%d [%s]\n" % (level, level, ",".join(["*a%d" % (level - 1)] * 9))
                                                      for level in range(1, 12))
    done = command("check", "-c", config(tmp_path, bomb))
    assert done.returncode == 2


def on_a_terminal(*arguments, env=None):
    """Output of the binary when its standard output and error are a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([str(BINARY), *map(str, arguments)], stdin=follower, stdout=follower, stderr=follower,
                               env={**PASSED, "TERM": "xterm-256color", **(env or {})})
    os.close(follower)
    shown = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(leader)
    process.wait(10)
    return shown.decode()


def test_an_error_on_a_terminal_shows_the_line_with_a_caret(tmp_path):
    path = config(tmp_path, "upstream: demo\nlimts: {}\n")
    shown = on_a_terminal("check", "-c", path)
    assert "limts: {}" in shown and "^" in shown and "\x1b[" in shown
    assert "\x1b[" not in on_a_terminal("check", "-c", path, env={"NO_COLOR": "1"})
    assert "\x1b[" not in command("check", "-c", path).stderr


# --- explain ------------------------------------------------------------------

def explain(tmp_path, *arguments):
    done = command("explain", *arguments, "-c", config(tmp_path, EXPLAINED), env={"API_TOKEN": SECRET})
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr
    return done.stdout


def test_explain_says_which_rules_match_and_which_key_refused_the_others(tmp_path):
    shown = explain(tmp_path, "GET", "http://127.0.0.1:8080/v1/logo.png")
    assert re.search(r"✓ static", shown) and re.search(r"✓ api", shown) and re.search(r"✗ other +host", shown)
    shown = explain(tmp_path, "POST", "http://127.0.0.1:8080/v1/logo.png")
    assert re.search(r"✗ static +method", shown) and re.search(r"✓ api", shown)
    shown = explain(tmp_path, "GET", "http://127.0.0.1:8080/elsewhere")
    assert re.search(r"✗ api +path", shown) and "no_rule" in shown


def test_explain_shows_the_request_as_it_would_be_sent(tmp_path):
    shown = explain(tmp_path, "GET", "http://127.0.0.1:8080/v1/a/../b?x=1", "-H", "x_env: forged", "-H", "X-Internal: 1", "-H", "X-Mine: kept")
    assert "GET /b?x=1" in shown
    assert re.search(r"Authorization: Bearer \$\{env:API_TOKEN\}", shown)
    assert re.search(r"X-Key: \$\{env:API_TOKEN\}", shown)
    assert re.search(r"X-Env: prod", shown) and re.search(r"X-Mine: kept", shown, re.I)
    assert re.search(r"x_env", shown) and re.search(r"X-Internal", shown, re.I), "what was removed is shown"
    assert "follow" in shown


# --- schema -------------------------------------------------------------------

@pytest.fixture(scope="module")
def validator():
    done = command("schema")
    assert done.returncode == 0
    schema = json.loads(done.stdout)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def test_schema_accepts_the_shipped_configuration(validator):
    validator.validate(yaml.safe_load((ROOT / "config.yaml").read_text()))


@pytest.mark.parametrize("good", [
    "upstream: demo", EXPLAINED, "listen: 127.0.0.1:1\nupstream: http://127.0.0.1:1\nproxy: {upstream: default, redirects: follow}",
    "upstream: demo\nlimits: {header_bytes: 16KiB, body: none}\ntimeouts: {header: 1m30s}\nworkers: auto",
    "upstream: demo\nrules: [{name: b, match: {url_list: {file: a.txt, format: hosts}}, block: true}]"])
def test_schema_accepts_what_check_accepts(validator, good):
    validator.validate(yaml.safe_load(good))


@pytest.mark.parametrize("bad", ["upstrem: demo", "upstream: demo\nworkers: many", "upstream: demo\nlimits: {body: 12}",
                                 "upstream: demo\ntimeouts: {header: 10}", "upstream: demo\nrules: {}", "upstream: demo\nlog: {level: loud}"])
def test_schema_refuses_what_check_refuses(validator, bad, tmp_path):
    assert not validator.is_valid(yaml.safe_load(bad))
    assert command("check", "-c", config(tmp_path, bad + "\n")).returncode == 2


def test_check_tells_what_is_wrong_with_the_lines_of_a_list(tmp_path):
    (tmp_path / "list.txt").write_text("||ads.test^\nexample.org##.ad\n*\n")
    path = config(tmp_path, "upstream: demo\nrules: [{match: {url_list: {file: list.txt, format: adblock}}, block: true}]\n")
    done = command("check", "-c", path)
    assert done.returncode == 0
    assert "list.txt: warning: 1 line is skipped: line 2: it changes pages" in done.stderr and "line 3: it fits every URL" in done.stderr


# --- status, flags ------------------------------------------------------------

def test_status_tells_about_the_running_proxy(proxy, origin):
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\nrequest: {set: {X-Key: '${env:KEY}'}}\n",
                ORIGIN=origin().port, env={"KEY": SECRET})
    one.ask()
    done = one.run("status", "-c", str(one.config))
    assert done.returncode == 0, done.stderr
    assert str(one.port) in done.stdout and SECRET not in done.stdout
    (socket_path,) = one.runtime.rglob("*.sock")
    assert socket_path.stat().st_mode & 0o777 == 0o600


def test_status_without_a_running_proxy_is_a_failure(tmp_path):
    done = command("status", env={"XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.returncode == 1 and done.stderr.strip()


def test_status_finds_the_socket_of_the_configuration_here(proxy, origin):
    """`run` reads ./config.yaml when it is told nothing, and so does whoever looks for it."""
    text = "listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\nadmin: {socket: '@DIR@/admin.sock'}\n"
    one = proxy(text, ORIGIN=origin().port)
    for arguments in [("status",), ("reload",), ("status", "-c", "config.yaml")]:
        done = one.run(*arguments)
        assert done.returncode == 0, done.stderr
    one.signal(15)
    assert one.exit_status() == 0
    done = one.run("status")
    assert done.returncode == 1 and "-c" in done.stderr and "--socket" in done.stderr
    done = one.run("status", "-c", "config.yaml")
    assert done.returncode == 1 and str(one.folder / "admin.sock") in done.stderr


def test_run_tells_how_a_configuration_is_named(tmp_path):
    done = command("run", "other.yml")
    assert done.returncode == 2 and "-c other.yml" in done.stderr
    done = command("run", "curl")
    assert done.returncode == 2 and "`--`" in done.stderr and "-c" not in done.stderr


def test_a_start_whose_admin_port_is_taken_serves_nobody_and_leaves_nothing(proxy, origin):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        source = origin()
        one = proxy("listen: unix:@DIR@/s\nupstream: http://127.0.0.1:@ORIGIN@\nadmin: {listen: '127.0.0.1:@TAKEN@'}\n",
                    ORIGIN=source.port, TAKEN=taken.getsockname()[1], run=False).spawn()
        assert one.exit_status() == 1
    assert "admin.listen: can not listen on" in one.log() and not source.requests
    assert not (one.folder / "s").exists() and not list(one.runtime.rglob("*.sock"))


def test_a_client_of_http2_that_is_not_expected_is_explained_in_the_log(proxy, origin):
    one = proxy("listen: 127.0.0.1:@LISTEN@\nupstream: http://127.0.0.1:@ORIGIN@\n", ORIGIN=origin().port)
    with one.client() as client:
        client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert client.response().status == 505
    eventually(lambda: "h2c: true" in one.log())


def test_flags_win_over_the_environment_and_the_environment_over_the_file(proxy, origin):
    from harness import free_port
    source, file_port, env_port, flag_port = origin(), free_port(), free_port(), free_port()
    text = "listen: 127.0.0.1:%d\nupstream: http://127.0.0.1:@ORIGIN@\n" % file_port
    one = proxy(text, ORIGIN=source.port, env={"AUTHPROXY_LISTEN": "127.0.0.1:%d" % env_port}, LISTEN=env_port)
    assert one.ask().status == 200
    two = proxy(text, ORIGIN=source.port, env={"AUTHPROXY_LISTEN": "127.0.0.1:%d" % env_port}, LISTEN=flag_port,
                arguments=["--listen", "127.0.0.1:%d" % flag_port]) if one.stop() == 0 else None
    assert two.ask().status == 200


def test_flags_alone_make_a_proxy(proxy, origin):
    source = origin()
    from harness import free_port
    port = free_port()
    one = proxy(None, LISTEN=port, arguments=["--listen", "127.0.0.1:%d" % port, "--upstream", source.url, "--header", "X-Env: flag"])
    assert dict(one.ask(target="/x").json()["fields"])["X-Env"] == "flag"


def test_a_file_that_forgets_its_upstream_is_an_error(tmp_path):
    done = command("check", "-c", config(tmp_path, "listen: 127.0.0.1:8080\nrequest: {set: {A: b}}\n"))
    assert done.returncode == 2 and "upstream" in done.stderr + done.stdout
