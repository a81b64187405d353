"""What README and docs show is what the program takes."""
import re, subprocess, sys

import pytest
import yaml

from harness import ROOT, command

README = (ROOT / "README.md").read_text()
DOCUMENTS = sorted([ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")] + list((ROOT / "docs").glob("*.md")))


def recipes():
    """(heading, configuration) of each complete configuration in README's recipes."""
    pages = README.partition("## Recipes")[2].partition("\n## ")[0] + (ROOT / "docs/recipes.md").read_text()
    return [(heading.strip(), block) for heading, block in re.findall(r"### ([^\n]+)\n(?:(?!###).)*?```yaml\n(.*?)```", pages, re.S)]


def test_every_recipe_is_found():
    text = README.partition("## Recipes")[2] + (ROOT / "docs/recipes.md").read_text()
    assert len(recipes()) == text.count("```yaml") >= 20


@pytest.mark.parametrize("heading, block", recipes(), ids=[heading for heading, _ in recipes()])
def test_a_recipe_is_accepted(tmp_path, heading, block):
    for path in set(re.findall(r"\$\{file:([^}]+)\}", block)):
        (tmp_path / path.strip("/").replace("/", "-")).write_text("value\n")
        block = block.replace("${file:%s}" % path, "${file:%s}" % (tmp_path / path.strip("/").replace("/", "-")))
    for name in re.findall(r"url_list: (?:\{file: )?(\S+\.txt)", block):
        (tmp_path / name).write_text("ads.example.com/**\n")
    for name in re.findall(r"\b(?:css|js): (\S+\.(?:css|js))", block):
        (tmp_path / name).write_text("")
    for name in re.findall(r"\bdir: (\w+)", block):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "config.yaml").write_text(block)
    env = {name: "value" for name in re.findall(r"\$\{env:(\w+)\}", block)}
    done = command("check", "-c", tmp_path / "config.yaml", env=env)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reference_names_every_key_of_the_schema():
    import json
    reference = (ROOT / "docs/configuration.md").read_text()

    def keys(node):
        if isinstance(node, dict):
            for name in node.get("properties", {}):
                yield name
            for value in node.values():
                yield from keys(value)
        elif isinstance(node, list):
            for value in node:
                yield from keys(value)

    missing = {name for name in keys(json.loads(command("schema").stdout)) if not re.search(r"\b%s\b" % re.escape(name), reference)}
    assert not missing


def test_every_advisory_names_a_test_that_exists():
    rows = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) >= 25
    cases = "".join(path.read_text() for path in (ROOT / "Tests/EndToEnd/cases").glob("*.jsonl"))
    tests = "".join(path.read_text() for path in (ROOT / "Tests/EndToEnd").glob("*.py"))
    for row in rows:
        for name in re.findall(r"`([^`]+)`", row.rstrip(" |").rpartition("|")[2]):
            assert '"id": "%s"' % name in cases or "def %s(" % name in tests, name


@pytest.mark.parametrize("document", DOCUMENTS, ids=[path.name for path in DOCUMENTS])
def test_every_link_within_the_project_leads_somewhere(document):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_every_error_reason_is_in_the_table():
    table = (ROOT / "docs/configuration.md").read_text()
    reasons = "not_found bad_request method_not_allowed uri_too_long header_too_large body_too_large no_rule forbidden blocked request_timeout " \
              "loop_detected redirect_loop credential_unavailable internal_error misdirected upstream_unreachable upstream_protocol_error " \
              "upstream_timeout upstream_tls overloaded shutting_down"
    for reason in reasons.split():
        assert "`%s`" % reason in table, reason
