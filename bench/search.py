"""Studies of hone beside Optuna's, in one run: time of asking TPE for a trial, and trials a second of each storage.

usage: search.py BENCH_SEARCH        (build/release/bench/bench_search; run with the Python of build/venv)
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import optuna

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)

SPACES = {
    "24 categories of 13": {f"c{i}": optuna.distributions.CategoricalDistribution(list(range(13))) for i in range(24)},
    "10 floats": {f"f{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(10)},
}


def suggest(trial, space):
    total = 0.0
    for name, d in space.items():
        if isinstance(d, optuna.distributions.CategoricalDistribution):
            total += (trial.suggest_categorical(name, d.choices) - 0.3) ** 2
        else:
            total += (trial.suggest_float(name, d.low, d.high) - 0.3) ** 2
    return total


def ask_ms(space, multivariate, size):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda t: suggest(t, space), n_trials=size)
    study.sampler = optuna.samplers.TPESampler(seed=1, multivariate=multivariate, constant_liar=multivariate)
    times = []
    for _ in range(9):
        start = time.perf_counter()
        trial = study.ask()
        suggest(trial, space)
        times.append((time.perf_counter() - start) * 1e3)
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    return statistics.median(times[2:])


def trials_per_second(storage, trials):
    study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=0))
    rates = []
    for _ in range(3):
        start = time.perf_counter()
        study.optimize(lambda t: suggest(t, SPACES["10 floats"]), n_trials=trials)
        rates.append(trials / (time.perf_counter() - start))
    return statistics.median(rates)


with tempfile.TemporaryDirectory() as folder:
    lines = subprocess.run([sys.argv[1], folder], check=True, capture_output=True, text=True).stdout.splitlines()
    ours = [json.loads(line) for line in lines]
    print(f"Optuna {optuna.__version__}\n")
    print("| | hone | Optuna | |\n|---|---|---|---|")
    journal = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(os.path.join(folder, "optuna.log")))
    peers = {"memory": (None, 500), "SQLite": (f"sqlite:///{folder}/optuna.db", 30), "journal": (journal, 100)}
    for line in ours:
        if line["what"] != "random trials":
            continue
        peer = trials_per_second(*peers[line["storage"]]) if line["storage"] in peers else None
        print(f"| random, 10 floats, {line['storage']}, trials/s | {line['value']} ({line['least']}-{line['most']}) | "
              + (f"{peer:.0f} | {line['value'] / peer:.0f}x |" if peer else "| |"), flush=True)
    for line in ours:
        if line["what"] != "tpe ask":
            continue
        peer = None
        if line["trials"] <= 1000:
            peer = ask_ms(SPACES[line["space"]], line["sampler"] == "multivariate", line["trials"])
        print(f"| TPE {line['sampler']}, {line['space']}, {line['trials']} trials, ms | {line['value']} "
              f"({line['p10']}-{line['p90']}) | " + (f"{peer:.1f} | {peer / line['value']:.0f}x |" if peer else "| |"), flush=True)
