"""What NVIDIA's assembler says of the PTX of a fixed list of kernels (bench_ptx): whether it takes each one, registers, spills.

usage: ptxas.py FOLDER [--ptxas PROGRAM] [--jobs 2] [--record]
FOLDER is what bench_ptx wrote. ptxas is searched on PATH and in PyPI's triton (`scripts/deps.sh peers`). Exit code 1 where a kernel is
refused or spills. --record writes the table into bench/results.md.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys


def find_ptxas():
    found = shutil.which("ptxas")
    if found:
        return found
    for folder in map(pathlib.Path, sys.path):
        program = folder / "triton/backends/nvidia/bin/ptxas"
        if program.exists():
            return str(program)
    sys.exit("ptxas is not there: install PyPI's triton (scripts/deps.sh peers), or name the program with --ptxas")


def assemble(ptxas, path):
    done = subprocess.run([ptxas, "-v", f"-arch={path.parent.name}", str(path), "-o", os.devnull], capture_output=True, text=True)
    text = done.stdout + done.stderr
    if done.returncode != 0:
        return path, {"refused": (text.strip().splitlines() or ["no word"])[0]}
    number = lambda pattern: max((int(value) for value in re.findall(pattern, text)), default=0)
    return path, {"registers": number(r"Used (\d+) registers"), "spilled": number(r"(\d+) bytes spill stores"), "stack": number(r"(\d+) bytes stack frame"),
                  "shared": number(r"(\d+) bytes smem")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ptxas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    ptxas = args.ptxas or find_ptxas()
    version = re.search(r"release ([\d.]+)", subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout).group(1)
    paths = sorted(args.folder.glob("sm_*/*.ptx"))
    if not paths:
        sys.exit(f"{args.folder}: no sm_*/*.ptx; bench_ptx writes them")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda path: assemble(ptxas, path), paths))
    groups, bad = collections.defaultdict(list), []
    for path, result in results:
        groups[path.parent.name, path.stem.rsplit(".", 1)[1]].append(result)
        if "refused" in result:
            bad.append(f"refused: {path.parent.name}/{path.name}: {result['refused']}")
        elif result["spilled"]:
            bad.append(f"spills {result['spilled']} bytes: {path.parent.name}/{path.name}, {result['registers']} registers")
    lines = ["| GPU | class | kernels | refused | spill | registers, median | most |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for (sm, kind), of_kind in sorted(groups.items()):
        taken = [result["registers"] for result in of_kind if "registers" in result]
        refused, spills = sum("refused" in result for result in of_kind), sum(bool(result.get("spilled")) for result in of_kind)
        lines.append(f"| {sm} | {kind} | {len(of_kind)} | {refused} | {spills} | {statistics.median(taken) if taken else '-':} | {max(taken, default='-')} |")
    table = "\n".join(lines)
    print(f"ptxas {version}, {len(paths)} kernels\n\n{table}\n\n" + "\n".join(bad))
    if args.record:
        from results import write_section

        write_section("PTX and ptxas", f"`bench_ptx FOLDER && bench/peers/ptxas.py FOLDER --record`, ptxas {version}; no GPU is needed.\n\n{table}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
