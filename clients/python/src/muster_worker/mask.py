"""Masks secrets in texts that leave a slot: errors and log lines (D52, D89).

A secret is a value of a config that the run has used, at a path that the automation declares in `secrets`. It is masked
as it is, and as it appears in JSON, URLs, base64 and hex. A short form is masked only when no letter or digit is next
to it: the PIN 42 in "PIN 42", not in "1426 ms".
"""

import base64
import json
import re
import traceback
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

SECRET_MASK = "********"
_MIN_FREE_CHARS = 6
_MAX_DEPTH = 8


class Masker:
    """`paths` are names of config fields, such as `password`, or `proxy.key` for a field of an object."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = [path.split(".") for path in paths]
        self._forms: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._last: object = None

    def see(self, config: Mapping[str, Any]) -> None:
        """Adds the secrets of `config` to those of earlier configs."""
        if config is self._last:
            return
        self._last = config
        for path in self._paths:
            value: Any = config
            for key in path:
                value = value.get(key) if isinstance(value, Mapping) else None
            self._remember(value)

    def text(self, text: str) -> str:
        """Masks every secret in a text."""
        if not self._forms:
            return text
        if self._pattern is None:
            longest_first = sorted(self._forms, key=len, reverse=True)
            self._pattern = re.compile("|".join(_pattern_of(form) for form in longest_first))
        return self._pattern.sub(SECRET_MASK, text)

    def value(self, value: Any, depth: int = 0) -> Any:
        """Copies a value and masks every secret in its texts. Fields deeper than 8 levels are left out."""
        if not self._forms or value is None or isinstance(value, int | float):
            return value
        if isinstance(value, str):
            return self.text(value)
        if depth > _MAX_DEPTH:
            return None
        if isinstance(value, BaseException):
            return self.text("".join(traceback.format_exception(value)))
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(each, depth + 1) for key, each in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return [self.value(each, depth + 1) for each in value]
        return self.text(str(value))

    def _remember(self, value: Any) -> None:
        if isinstance(value, Mapping):
            value = list(value.values())
        if isinstance(value, list | tuple):
            for each in value:
                self._remember(each)
            return
        text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
        if isinstance(text, str) and text not in ("", SECRET_MASK):
            self._forms.update(form for form in _forms_of(text) if form)
            self._pattern = None


def _pattern_of(form: str) -> str:
    literal = re.escape(form)
    return literal if len(form) >= _MIN_FREE_CHARS else rf"(?<![^\W_]){literal}(?![^\W_])"


def _forms_of(secret: str) -> list[str]:
    data = secret.encode("utf-8", "surrogatepass")
    url = quote(data, safe="-_.!~*'()")
    plain = base64.b64encode(data).decode()
    forms = [secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]]
    forms += [url, url.replace("%20", "+"), re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), url)]
    forms += [data.hex(), data.hex().upper(), plain, plain.rstrip("=")]
    for before in range(3):  # How it appears in the base64 of a longer text, such as `user:secret`.
        inside = base64.b64encode(bytes(before) + data).decode()
        own = inside[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        if len(own) >= _MIN_FREE_CHARS:
            forms.append(own)
    forms.append(quote(data))  # As Python escapes a path, with its slashes.
    return forms + [form.replace("+", "-").replace("/", "_") for form in forms[7:]]
