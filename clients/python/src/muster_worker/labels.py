"""Parses the labels of a worker (D136): `key=value` pairs that say what it is for. They are sent with `register`."""

import json
import re

from .limits import MAX_LABEL_CHARS, MAX_LABELS

_KEY = re.compile("[a-z0-9]([a-z0-9./-]{0,61}[a-z0-9])?")
_VALUE = re.compile(f"[ -~]{{0,{MAX_LABEL_CHARS}}}")
_EXAMPLE = "for example zone=eu-1,tier=spot"


def parse_labels(text: str) -> dict[str, str]:
    """Parses `zone=eu-1,tier=spot`. Raises ValueError that names the pair at fault and how to write it."""
    labels: dict[str, str] = {}
    for pair in text.split(",") if text.strip() else []:
        key, value = _read_pair(pair.strip())
        if key in labels:
            raise ValueError(f"has the key of {_quoted(pair.strip())} twice; name each key once")
        labels[key] = value
    if len(labels) > MAX_LABELS:
        raise ValueError(f"has {len(labels)} labels; at most {MAX_LABELS} are possible")
    return labels


def _read_pair(pair: str) -> tuple[str, str]:
    key, equals, value = pair.partition("=")
    if not equals:
        raise ValueError(f"{_quoted(pair)} is not KEY=VALUE; {_EXAMPLE}")
    if _KEY.fullmatch(key) is None:
        raise ValueError(
            f"{_quoted(pair)} has an invalid key: use 1 to {MAX_LABEL_CHARS} lower-case letters, digits, "
            f'".", "/" and "-", with a letter or digit at both ends; {_EXAMPLE}'
        )
    if _VALUE.fullmatch(value) is None:
        raise ValueError(
            f"{_quoted(pair)} has an invalid value: use at most {MAX_LABEL_CHARS} printable ASCII characters"
        )
    return key, value


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
