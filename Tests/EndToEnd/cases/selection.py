"""What a case needs that this version of the proxy does not have, read off the case itself."""
import re

import yaml

# Keys of the configuration contract that belong to later versions, wherever they stand.
LATER_KEYS = {"h2c": "HTTP/2", "authenticators": "client authentication",
              "authenticate": "client authentication", "oauth2": "OAuth 2 credentials", "aws_sigv4": "AWS signing"}


def unmet(case):
    """The first thing that the case needs and this version lacks; None when the case can be held against it."""
    for name in ("origin_options", "origin2_options"):
        reason = of_connection(case.get(name, {}))
        if reason:
            return reason
    for options in [case.get("connect", {})] + [step.get("connect") for step in case["client"]]:
        reason = of_connection(options if isinstance(options, dict) else {})
        if reason:
            return reason
    if any("h2" in step for step in case["client"]):
        return "HTTP/2"
    for variant in case.get("vary", [{}]):
        for name in ("config", "config2"):
            reason = of_configuration(case.get(name, ""), variant)
            if reason:
                return reason
    return None


def of_connection(options):
    return "HTTP/2" if options.get("h2") else None


def of_configuration(text, variant):
    for name, value in variant.items():
        text = text.replace("@%s@" % name, str(value))
    text = re.sub(r"@([A-Z0-9_]+)@", r"\1", text)
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError:  # meant to be refused by the proxy, which this version can do
        return None
    return of_tree(tree)


def of_tree(node):
    if isinstance(node, list):
        return next(filter(None, map(of_tree, node)), None)
    if not isinstance(node, dict):
        return None
    for key, value in node.items():
        if key in LATER_KEYS:
            return LATER_KEYS[key]
        if key in ("protocol", "protocols") and "h2" in str(value):
            return "HTTP/2"
        reason = of_tree(value)
        if reason:
            return reason
    return None
