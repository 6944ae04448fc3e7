"""What NVIDIA's assembler says of the PTX of a fixed list of kernels (bench_ptx): whether it takes each one, registers, spills.

usage: ptxas.py FOLDER [--ptxas PROGRAM] [--jobs 2] [--check | --write] [--record]
FOLDER is what bench_ptx wrote. ptxas is searched on PATH and in PyPI's triton (`scripts/deps.sh peers`), nvdisasm there and beside it. A kernel
that spills is assembled again for one block at a time, as hone asks the driver. Exit code 1 where a kernel is refused or still spills.
--write makes bench/ptxas.csv of what `bench_ptx FOLDER --golden` wrote: a line a kernel with its registers, instructions, and, of those that
multiply by HMMA, the issue slots of the loop for each. --check compares with it: exit code 1 where a kernel is not in it or takes over 5 %
more. --record writes the table into bench/results.md.
"""
import argparse
import collections
import concurrent.futures
import csv
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

GOLDEN = pathlib.Path("bench/ptxas.csv")
COLUMNS = ["GPU", "kernel", "registers", "spilled", "instructions", "slots"]
ONE_BLOCK = ".minnctapersm 1"  # as device/cuda/assembler.cc


def find(name, beside=None):
    folders = [path / "triton/backends/nvidia/bin" for path in map(pathlib.Path, sys.path)] + ([pathlib.Path(beside).parent] if beside else [])
    return shutil.which(name) or next((str(folder / name) for folder in folders if (folder / name).exists()), None)


def loop_slots(lines):
    """Instructions of the smallest loop with the most HMMA over their number; None where there is none."""
    at, labels, branches, loops = 0, {}, [], []
    products = [0]  # before each instruction
    for line in lines:
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = at
        elif code := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*);", line):
            if to := re.search(r"BRA.*`\((\.L_x_\d+)\)", code[1]):
                branches.append((at, to[1]))
            at += 1
            products.append(products[-1] + ("HMMA" in code[1]))
    for place, to in branches:
        if labels.get(to, place) < place:
            loops.append((products[place] - products[labels[to]], labels[to] - place, place + 1 - labels[to]))
    most, _, length = max(loops, default=(0, 0, 0))
    return at, round(length / most, 2) if most else None


def assembled(tools, path, text, cubin):
    done = subprocess.run([tools["ptxas"], "-v", f"-arch={path.parent.name}", "-", "-o", cubin], input=text, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        return {"refused": (said.strip().splitlines() or ["no word"])[0]}
    number = lambda pattern: max((int(value) for value in re.findall(pattern, said)), default=0)
    return {"registers": number(r"Used (\d+) registers"), "spilled": number(r"(\d+) bytes spill stores"), "again": False}


def assemble(tools, path):
    text = path.read_text()
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "cubin")
        result = assembled(tools, path, text, cubin)
        if result.get("spilled"):
            result = {**assembled(tools, path, re.sub(r"^(\.maxntid .*)$", rf"\1\n{ONE_BLOCK}", text, count=1, flags=re.M), cubin), "again": True}
        if "refused" not in result and tools["nvdisasm"]:
            listing = subprocess.run([tools["nvdisasm"], "-c", cubin], capture_output=True, text=True, check=True).stdout
            result["instructions"], result["slots"] = loop_slots(listing.splitlines())
    return path, result


def line_of(path, result):
    return {"GPU": path.parent.name, "kernel": path.stem, **{key: "" if result.get(key) is None else str(result[key]) for key in COLUMNS[2:]}}


def write(version, results):
    with GOLDEN.open("w", newline="") as file:
        file.write(f"# ptxas {version}: build/release/bench/bench_ptx FOLDER --golden && bench/peers/ptxas.py FOLDER --write\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(line_of(path, result) for path, result in results)


def differences(results):
    """From the golden table: what is not in it, and what takes over 5 % more, or 2 registers."""
    rows = csv.DictReader(line for line in GOLDEN.read_text().splitlines() if not line.startswith("#"))
    golden = {(row["GPU"], row["kernel"]): row for row in rows}
    now = {(path.parent.name, path.stem): line_of(path, result) for path, result in results}
    for key in golden.keys() - now.keys():
        yield f"not made any more: {key[0]}/{key[1]}"
    for key, row in now.items():
        if key not in golden:
            yield f"not in {GOLDEN}: {key[0]}/{key[1]}"
            continue
        for column in COLUMNS[2:]:
            before, after = golden[key][column], row[column]
            if before and after and float(after) > max(1.05 * float(before), float(before) + 2 * (column == "registers")):
                yield f"{column} {after}, not {before}: {key[0]}/{key[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ptxas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--record", action="store_true")
    golden = parser.add_mutually_exclusive_group()
    golden.add_argument("--check", action="store_true")
    golden.add_argument("--write", action="store_true")
    args = parser.parse_args()
    ptxas = args.ptxas or find("ptxas")
    if not ptxas:
        sys.exit("ptxas is not there: install PyPI's triton (scripts/deps.sh peers), or name the program with --ptxas")
    tools = {"ptxas": ptxas, "nvdisasm": find("nvdisasm", ptxas)}
    if args.write and not tools["nvdisasm"]:
        sys.exit("nvdisasm is not there: install PyPI's triton (scripts/deps.sh peers)")
    if args.check and not GOLDEN.exists():
        sys.exit(f"{GOLDEN} is not there: --write makes it")
    version = re.search(r"release ([\d.]+)", subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout).group(1)
    paths = sorted(args.folder.glob("sm_*/*.ptx"))
    if not paths:
        sys.exit(f"{args.folder}: no sm_*/*.ptx; bench_ptx writes them")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda path: assemble(tools, path), paths))
    groups, bad = collections.defaultdict(list), []
    for path, result in results:
        groups[path.parent.name, path.stem.rsplit(".", 1)[1]].append(result)
        if "refused" in result:
            bad.append(f"refused: {path.parent.name}/{path.name}: {result['refused']}")
        elif result["spilled"]:
            bad.append(f"spills {result['spilled']} bytes: {path.parent.name}/{path.name}, {result['registers']} registers")
    lines = ["| GPU | class | kernels | refused | for one block | spill | registers, median | most |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for (sm, kind), of_kind in sorted(groups.items()):
        taken = [result["registers"] for result in of_kind if "registers" in result]
        counts = [sum(bool(result.get(key)) for result in of_kind) for key in ("refused", "again", "spilled")]
        lines.append(f"| {sm} | {kind} | {len(of_kind)} | {counts[0]} | {counts[1]} | {counts[2]} | {statistics.median(taken) if taken else '-':} | {max(taken, default='-')} |")
    table = "\n".join(lines)
    if args.check:
        bad += differences(results)
    print(f"ptxas {version}, {len(paths)} kernels\n\n{table}\n\n" + "\n".join(bad))
    if args.write:
        write(version, results)
    if args.record:
        from results import write_section

        write_section("PTX and ptxas", f"`bench_ptx FOLDER && bench/peers/ptxas.py FOLDER --record`, ptxas {version}; no GPU is needed.\n\n{table}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
