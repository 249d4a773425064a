"""Tests that secrets of a config do not leave a slot."""

import base64
import unittest
from urllib.parse import quote

from muster_worker.mask import SECRET_MASK, Masker

SECRET = 'p"ss wörd+/'


class MaskTest(unittest.TestCase):
    def setUp(self) -> None:
        self.masker = Masker(("password", "proxy.key", "pin"))
        self.masker.see({"password": SECRET, "proxy": {"key": ["abcdef-1"]}, "pin": 42, "other": "visible"})

    def test_masks_every_form_of_a_secret(self) -> None:
        data = SECRET.encode()
        basic = base64.b64encode(b"user:" + data).decode()
        for form in (SECRET, repr(SECRET), quote(SECRET), data.hex(), base64.b64encode(data).decode(), "abcdef-1"):
            self.assertIn(SECRET_MASK, self.masker.text(f"<{form}>"), form)
        self.assertIn(SECRET_MASK, self.masker.text(basic))

    def test_masks_a_short_secret_only_as_a_word(self) -> None:
        self.assertEqual(self.masker.text("PIN 42, 1426 ms, visible"), f"PIN {SECRET_MASK}, 1426 ms, visible")

    def test_masks_inside_values_and_errors(self) -> None:
        value = self.masker.value({"a": [SECRET, 1], "e": ValueError(SECRET)})
        self.assertEqual(value["a"], [SECRET_MASK, 1])
        self.assertNotIn(SECRET, value["e"])

    def test_keeps_the_secrets_of_earlier_configs(self) -> None:
        self.masker.see({"password": "another one"})
        self.assertEqual(self.masker.text(f"{SECRET} another one"), f"{SECRET_MASK} {SECRET_MASK}")
