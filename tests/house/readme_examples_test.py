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

    def test_planted_faults(self):
        self.assertFalse(matches("a 1", "a 2\n"))
        self.assertFalse(matches("a\nb", "a\n"))
        self.assertFalse(matches("a", "a\nb\n"))
        self.assertFalse(matches("", "a\n"))


if __name__ == "__main__":
    unittest.main()
