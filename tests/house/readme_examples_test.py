"""The example runner must see a changed number, a missing line and an extra line."""

import unittest

from readme_examples import examples, matches


class ReadmeExamplesTest(unittest.TestCase):
    def test_parsing(self):
        page = "x\n```console\n$ echo a\na\n$ true\n```\n```bash\n$ no\n```\n"
        self.assertEqual(examples(page), [("echo a", "a"), ("true", "")])

    def test_matching(self):
        self.assertTrue(matches("a 1\n...\nz", "a 1\nb\nc\nz\n"))
        self.assertTrue(matches("a 1\n...\nz", "a 1\nz\n"))
        self.assertTrue(matches("took ... s", "took 3.1 s\n"))
        self.assertTrue(matches("", ""))

    def test_last_digits_depend_on_the_machine(self):
        self.assertTrue(matches("a  0.4519 1.2e-05", "a 0.4520 1.1e-05\n"))
        self.assertFalse(matches("a 0.4519", "a 0.4521\n"))
        self.assertFalse(matches("a 1.2e-05", "a 1.2e-04\n"))
        self.assertFalse(matches("a 1.5", "a b\n"))

    def test_planted_faults(self):
        self.assertFalse(matches("a 1", "a 2\n"))
        self.assertFalse(matches("a\nb", "a\n"))
        self.assertFalse(matches("a", "a\nb\n"))
        self.assertFalse(matches("", "a\n"))


if __name__ == "__main__":
    unittest.main()
