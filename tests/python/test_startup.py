"""What an import costs, of the package as users install it."""

import unittest

from networks import python

MOST_MILLISECONDS = 60


class Startup(unittest.TestCase):
    def test_importing_takes_little_time(self):
        program = "import time; begin = time.process_time_ns(); import hone; print((time.process_time_ns() - begin) / 1e6)"
        fastest = min(float(python(program).stdout) for _ in range(5))
        self.assertLessEqual(fastest, MOST_MILLISECONDS)


if __name__ == "__main__":
    unittest.main()
