"""Studies of hone beside Optuna's, each part in one run: times of asking TPE for a trial, trials a second of each storage
with one worker, and of four on a PostgreSQL server, opening a study of many trials. --record puts each part into
bench/results.md.

usage: search.py BENCH_SEARCH [--record] [storages|ask|server|resume ...]
(build/release/bench/bench_search; Python of build/venv)
"""
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import optuna

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import postgres  # noqa: E402
from results import table, write_section  # noqa: E402

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)

BENCH = sys.argv[1]
SPACES = {
    "24 categories of 13": {f"c{i}": optuna.distributions.CategoricalDistribution(list(range(13))) for i in range(24)},
    "24 floats": {f"f{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(24)},
    "20 floats": {f"f{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(20)},
}


def suggest(trial, space):
    total = 0.0
    for name, d in space.items():
        if isinstance(d, optuna.distributions.CategoricalDistribution):
            total += (trial.suggest_categorical(name, d.choices) - 0.3) ** 2
        else:
            total += (trial.suggest_float(name, d.low, d.high) - 0.3) ** 2
    return total


def processor():
    with open("/proc/cpuinfo") as file:
        return next(line.split(": ")[1].strip() for line in file if line.startswith("model name"))


def hone(*arguments):
    lines = subprocess.run([BENCH, *arguments], check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


ROWS = []


def row(what, ours, theirs=None, better=None):
    """better: how many times as good as theirs ours is."""
    ratio = better(theirs) if theirs else 0
    ROWS.append([what, ours, "" if theirs is None else f"{theirs:.3g}",
                 f"{ratio:.{0 if ratio >= 10 else 2}f}x" if theirs else ""])
    print(*ROWS[-1], sep=" | ", flush=True)


def trials_per_second(storage, trials):
    study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=0))
    rates = []
    for _ in range(3):
        start = time.perf_counter()
        study.optimize(lambda t: suggest(t, SPACES["24 floats"]), n_trials=trials)
        rates.append(trials / (time.perf_counter() - start))
    return statistics.median(rates)


def storages(folder):
    journal = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(os.path.join(folder, "optuna.log")))
    peers = {"memory": (None, 500), "SQLite": (f"sqlite:///{folder}/optuna.db", 30), "journal": (journal, 100)}
    for line in hone("storages", folder):
        if line["what"] == "random trials":
            name = line["storage"]
            peer = trials_per_second(*peers[name]) if name in peers else None
            row(f"random, 24 floats, {name}, trials/s", f"{line['value']} ({line['least']}-{line['most']})", peer,
                lambda theirs: line["value"] / theirs)
        elif line["what"] == "overhead":
            row("100 trials of 0.1 s, 24 floats, TPE, SQLite: what the study adds to their time", f"{100 * line['value']:.2f} %")
        else:
            row("4 KiB appended and on the disk, 1/s", line["value"])


def ask_ms(space, history, multivariate, times):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1, multivariate=multivariate,
                                                                   constant_liar=multivariate))
    study.add_trials(history)
    found = []
    for _ in range(times):
        start = time.perf_counter()
        trial = study.ask()
        suggest(trial, space)
        found.append((time.perf_counter() - start) * 1e3)
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    return statistics.median(found[2:])


def ask(_):
    histories = {}
    for name in ("24 categories of 13", "24 floats"):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.optimize(lambda t: suggest(t, SPACES[name]), n_trials=10000)
        histories[name] = study.get_trials(deepcopy=False)
    for line in hone("ask"):
        name, trials = line["space"], line["trials"]
        peer = None
        if trials <= 1000 or name == "24 floats":
            peer = ask_ms(SPACES[name], histories[name][:trials], line["sampler"] == "multivariate",
                          9 if trials <= 1000 else 5)
        row(f"TPE {line['sampler']}, {name}, {trials} trials, ms", f"{line['value']} ({line['p10']}-{line['p90']})", peer,
            lambda theirs: theirs / line["value"])


def optuna_worker(url, seconds, barrier, found):
    study = optuna.load_study(study_name="optuna", storage=url, sampler=optuna.samplers.RandomSampler())
    barrier.wait()
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        trial = study.ask()
        study.tell(trial, suggest(trial, SPACES["20 floats"]))
        done += 1
    found.put(done / (time.perf_counter() - start))


def server(folder):
    """Four workers on one study of 20 floats, three rounds: the rates are sums over the workers."""
    seconds, workers = 4, 4
    # As Debian sets a server up, with room for the workers; commits wait for the disk.
    with postgres.Server(folder) as running:
        theirs, ours = running.urls("bench")
        optuna.create_study(study_name="optuna", storage=theirs)
        rates = {"optuna": [], "hone": [], "one": [], "two": []}

        def together(*arguments):
            all = [subprocess.Popen([BENCH, *arguments], stdout=subprocess.PIPE, text=True) for _ in range(workers)]
            return sum(float(p.communicate()[0]) for p in all)

        together("work", ours, "0.1")
        for _ in range(3):
            rates["hone"].append(together("work", ours, str(seconds)))
            rates["two"].append(together("write", ours, str(seconds), "2"))
            rates["one"].append(together("write", ours, str(seconds), "1"))
            context = multiprocessing.get_context("spawn")
            barrier, found = context.Barrier(workers), context.Queue()
            all = [context.Process(target=optuna_worker, args=(theirs, 2 * seconds, barrier, found)) for _ in range(workers)]
            for p in all:
                p.start()
            rates["optuna"].append(sum(found.get() for _ in all))
            for p in all:
                p.join()
        middle = {name: statistics.median(all) for name, all in rates.items()}
        spread = f"{min(rates['hone']):.0f}-{max(rates['hone']):.0f}"
        row("random, 20 floats, PostgreSQL, 4 workers, trials/s", f"{middle['hone']:.0f} ({spread})", middle["optuna"],
            lambda theirs: middle["hone"] / theirs)
        for name, what in (("two", "both transactions"), ("one", "the second transaction")):
            row(f"a minimal writer of these rows, {what} of a trial on the disk", f"{middle['hone']:.0f}", middle[name],
                lambda theirs: middle["hone"] / theirs)
        numbers = running.psql("SELECT count(*) - count(DISTINCT (study_id, number)) FROM bench.trials").strip()
        assert numbers == "0", numbers


def resume(folder):
    for line in hone("resume", folder):
        row(f"{line['what']}, {line['storage']}, s (and one more by TPE)", f"{line['value']} ({line['with_a_trial']})")


TITLES = {"storages": "trials a second of one worker", "ask": "asking for a trial", "server": "four workers on PostgreSQL",
          "resume": "opening many trials"}

if __name__ == "__main__":
    parts = [a for a in sys.argv[2:] if a != "--record"] or list(TITLES)
    for part in parts:
        ROWS.clear()
        with tempfile.TemporaryDirectory() as folder:
            {"storages": storages, "ask": ask, "server": server, "resume": resume}[part](folder)
        if "--record" in sys.argv:
            write_section(f"Search: {TITLES[part]}", f"`bench/search.py build/release/bench/bench_search --record {part}` on "
                          f"{processor()}, two virtual CPUs, beside Optuna {optuna.__version__}.\n\n"
                          + table(["", "hone", "Optuna, or what it says", ""], ROWS))
