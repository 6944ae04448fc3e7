"""This machine's Debian packages as texts."""
import random
import subprocess


def packages():
    """What is known of each, a paragraph a package."""
    return subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout


def descriptions(seed, count):
    """Short descriptions, shuffled."""
    fields = ("Description: ", "Description-en: ")
    lines = sorted({line.split(": ", 1)[1] for line in packages().splitlines() if line.startswith(fields)})
    return random.Random(seed).sample(lines, count)
