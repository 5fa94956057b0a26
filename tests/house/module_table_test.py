"""The module check must fail on planted faults: an upward include, a foreign header, an unknown module, a cycle."""

import pathlib
import tempfile
import unittest

import module_table

TABLE = """
| module | holds | may include |
|---|---|---|
| core | everything below | std only |
| codebook | tables | - |
| quantizer | methods | codebook |
| bounds | formulas | - |
| kernels | targets | core |
"""


class ModuleTableTest(unittest.TestCase):
    def check(self, file, text):
        with tempfile.TemporaryDirectory() as folder:
            lib = pathlib.Path(folder)
            path = lib / file
            path.parent.mkdir(parents=True)
            path.write_text(text)
            return list(module_table.violations(lib, module_table.allowed_includes(TABLE)))

    def test_allowed(self):
        self.assertEqual(self.check("src/quantizer/a.cc", '#include "orthant/codebook/codebook.h"\n#include <vector>\n'), [])
        self.assertEqual(self.check("include/orthant/bounds/a.h", '#include "orthant/core/error.h"\n'), [])

    def test_planted_faults(self):
        for file, text in [
            ("src/bounds/a.cc", '#include "orthant/codebook/codebook.h"\n'),
            ("src/codebook/a.cc", '#include "orthant/quantizer/turbo_mse.h"\n'),
            ("include/orthant/codebook/a.h", "#include <Eigen/Dense>\n"),
            ("include/orthant/codebook/a.h", '#include "kernels/table.h"\n'),
            ("src/unheard/a.cc", "#include <vector>\n"),
        ]:
            self.assertEqual(len(self.check(file, text)), 1, file)

    def test_cycle(self):
        with self.assertRaises(SystemExit):
            module_table.allowed_includes(TABLE.replace("| codebook | tables | - |", "| codebook | tables | quantizer |"))


if __name__ == "__main__":
    unittest.main()
