"""Tests the labels that SVC_WORKER_LABELS names."""

import unittest

from muster_worker.labels import parse_labels


class LabelsTest(unittest.TestCase):
    def test_reads_pairs(self) -> None:
        self.assertEqual(parse_labels("zone=eu-1,tier=spot"), {"zone": "eu-1", "tier": "spot"})
        self.assertEqual(parse_labels(" zone=eu-1 , example.com/tier= "), {"zone": "eu-1", "example.com/tier": ""})
        self.assertEqual(parse_labels("a=b=c"), {"a": "b=c"})
        self.assertEqual(parse_labels(""), {})

    def test_names_the_pair_at_fault(self) -> None:
        for text, problem in [
            ("zone", '"zone" is not KEY=VALUE; for example zone=eu-1,tier=spot'),
            ("a=b,,c=d", '"" is not KEY=VALUE'),
            ("tier=spot,Zone=eu-1", '"Zone=eu-1" has an invalid key'),
            (f"{'k' * 64}=v", "has an invalid key"),
            ("zone=ü", '"zone=ü" has an invalid value'),
            (f"zone={'v' * 64}", "has an invalid value"),
            ("zone=a,zone=b", 'has the key of "zone=b" twice'),
            (",".join(f"k{i}=v" for i in range(17)), "has 17 labels; at most 16"),
        ]:
            with self.subTest(text=text), self.assertRaises(ValueError) as raised:
                parse_labels(text)
            self.assertIn(problem, str(raised.exception))
