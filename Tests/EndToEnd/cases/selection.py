"""What a case needs that this version of the proxy does not have, read off the case itself."""
import re

import yaml

# Keys of the configuration contract that belong to later versions, wherever they stand.
LATER_KEYS = {"authenticators": "client authentication",
              "authenticate": "client authentication", "oauth2": "OAuth 2 credentials", "aws_sigv4": "AWS signing"}


def unmet(case):
    """The first thing that the case needs and this version lacks; None when the case can be held against it."""
    for variant in case.get("vary", [{}]):
        for name in ("config", "config2"):
            reason = of_configuration(case.get(name, ""), variant)
            if reason:
                return reason
    return None


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
        reason = of_tree(value)
        if reason:
            return reason
    return None
