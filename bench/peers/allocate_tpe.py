"""hone allocate beside Optuna's TPE over the same choices: time, and the error of what each finds at one budget.

    build/venv/bin/python bench/peers/allocate_tpe.py build/release/hone build/models/all-MiniLM-L6-v2 texts.txt

A trial of TPE chooses a format for each weight, which hone then quantizes and runs; choices above the budget are given to
TPE as violated constraints. It starts from the uniform format that fits. Weights are rounded to nearest on both sides, and errors are of
embeddings against the f32 model's.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import optuna


def hone(arguments, *more):
    return subprocess.run([arguments.hone, *map(str, more)], check=True, capture_output=True, text=True).stdout


def embeddings(arguments, model, folder):
    hone(arguments, "embed", model, "--text-file", arguments.texts, "-o", folder / "e.npy", "--compute", "bf16")
    return np.load(folder / "e.npy").astype(np.float64)


def judged(arguments, rules, reference, folder):
    """Average bits and relative output error of the model with these rules."""
    plan, model = folder / "plan.toml", folder / "model.safetensors"
    plan.write_text("rule = " + json.dumps(rules) + "\n")
    record = json.loads(hone(arguments, "quantize", arguments.model, "--config", plan, "--compute", "bf16", "-o", model, "--json"))
    difference = embeddings(arguments, model, folder) - reference
    return record["totals"]["average_bits"], float((difference ** 2).sum() / (reference ** 2).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone")
    parser.add_argument("model")
    parser.add_argument("texts")
    parser.add_argument("--formats", default="mxint3,mxint4,mxint5,mxint6,mxint8")
    parser.add_argument("--start", default="mxint4")
    parser.add_argument("--bits", type=float, default=4.5)
    parser.add_argument("--trials", type=int, default=30)
    arguments = parser.parse_args()
    formats = arguments.formats.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        begin = time.time()
        hone(arguments, "allocate", arguments.model, "--formats", arguments.formats, "--budget", f"avg-bits={arguments.bits}",
             "--method", "nearest", "--calib", arguments.texts, "-o", folder / "allocated.toml")
        seconds = time.time() - begin
        rules = [line.strip().strip(",") for line in (folder / "allocated.toml").read_text().splitlines() if "name:" in line]
        rules = [json.loads(rule) for rule in rules]
        names = [rule[5:rule.index("=")] for rule in rules]
        hone(arguments, "embed", arguments.model, "--text-file", arguments.texts, "-o", folder / "r.npy", "--compute", "f32")
        reference = np.load(folder / "r.npy").astype(np.float64)
        bits, error = judged(arguments, rules, reference, folder)
        print(json.dumps({"what": "hone allocate", "seconds": seconds, "average_bits": bits, "output_error": error}), flush=True)
        uniform_bits, uniform_error = judged(arguments, [f"name:{n}={arguments.start}" for n in names], reference, folder)
        print(json.dumps({"what": f"all in {arguments.start}", "average_bits": uniform_bits, "output_error": uniform_error}), flush=True)

        def objective(trial):
            chosen = [f"name:{n}={trial.suggest_categorical(n, formats)}" for n in names]
            bits, error = judged(arguments, chosen, reference, folder)
            trial.set_user_attr("bits", bits)
            return error

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=1, multivariate=True,
                                             constraints_func=lambda t: (t.user_attrs["bits"] - arguments.bits,))
        study = optuna.create_study(sampler=sampler)
        study.enqueue_trial({n: arguments.start for n in names})
        begin = time.time()
        study.optimize(objective, n_trials=arguments.trials)
        fitting = [t for t in study.trials if t.user_attrs["bits"] <= arguments.bits]
        best = min(fitting, key=lambda t: t.value)
        print(json.dumps({"what": f"TPE, {arguments.trials} trials", "seconds": time.time() - begin,
                          "average_bits": best.user_attrs["bits"], "output_error": best.value, "within_budget": len(fitting)}))


if __name__ == "__main__":
    main()
