"""Whether the memory that `hone doctor` says a run needs at most is enough: the peak of `hone run` as the system counts it, over models,
formats, file types and numbers of threads, with the cache of machine code empty and full. No figure depends on time.

usage: memory_bound.py HONE [MODEL]...      (from the root of the checkout; MODEL: .onnx, .safetensors or a folder, beside the own ones)

Exits with 1 when a run took more than was promised.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

WORK = pathlib.Path("build/bench/memory_bound")
MINILM = pathlib.Path("build/models/all-MiniLM-L6-v2")
FORMATS = ["mxint8", "mxint4", "int8.channel"]


def run(hone, *command):
    done = subprocess.run([hone, *map(str, command)], capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"hone {' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def peak(command, environment):
    """Largest resident memory of a process, in bytes."""
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: ended with {child.returncode}")
    return usage.ru_maxrss * 1024


def own_models(hone):
    WORK.mkdir(parents=True, exist_ok=True)
    sources = []
    for name in ["resnet18", "mobilenet_v3_small", "mlp"]:
        run(hone, "build", name, "-o", WORK / f"{name}.safetensors")
        sources.append((name, WORK / f"{name}.safetensors"))
    if MINILM.exists():
        sources.append(("minilm", MINILM))
    for name, source in sources:
        yield source
        run(hone, "export", source, "-o", WORK / f"{name}.onnx")
        yield WORK / f"{name}.onnx"
        for form in FORMATS:
            for ending in ["safetensors", "onnx"]:
                file = WORK / f"{name}-{form}.{ending}"
                run(hone, "quantize", source, "--to", form, "-o", file)
                yield file


def main():
    hone, given = sys.argv[1], [pathlib.Path(each) for each in sys.argv[2:]]
    cache, missed = WORK / "cache", 0
    print("| model | promised, MB | threads | peak, MB | promised / peak |\n| --- | --- | --- | --- | --- |")
    for model in given or own_models(hone):
        memory = json.loads(run(hone, "doctor", model, "--json", "--timeout", 600))["memory"]
        promised = memory["needed_bytes"]
        for threads in (1, 2):
            shutil.rmtree(cache, ignore_errors=True)
            command = [hone, "run", model, "--threads", threads]
            peaks = [peak(command, {**os.environ, "HONE_CACHE": str(cache)}) for _ in ("cold", "warm")]
            kept = max(peaks) <= promised
            missed += not kept
            print(f"| {model.name} | {promised * 1e-6:.0f} | {threads} | {max(peaks) * 1e-6:.0f} | {promised / max(peaks):.2f}{'' if kept else ' **exceeded**'} |",
                  flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
