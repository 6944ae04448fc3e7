"""Studies that hone and Optuna share, both ways: Optuna makes one and hone goes on with it, and the other way round, in
SQLite, in a journal and, where its package is installed, on a PostgreSQL server of its own. Prints what was checked; ends
with an AssertionError where something is not as it should be.

usage: optuna_interop.py STUDY_WORKER [sqlite|journal|postgres ...]
(build/*/bench/study_worker STORAGE STUDY TRIALS SAMPLER works on a study of x: float, n: int, c: category)
"""
import importlib.util
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings

import optuna
import postgres
from optuna.trial import TrialState

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
worker = sys.argv[1]
kinds = sys.argv[2:] or ["sqlite", "journal"] + (["postgres"] if postgres.programs() else [])


def hone(storage, study, trials, sampler="tpe", *heartbeat):
    subprocess.run([worker, storage, study, str(trials), sampler, *heartbeat], check=True)


def objective(trial):
    x = trial.suggest_float("x", 1e-5, 0.1, log=True)
    n = trial.suggest_int("n", 1, 10)
    c = trial.suggest_categorical("c", ["a", None, True, 1.5])
    trial.report(n, 0)
    trial.report(float("nan"), 1)
    trial.set_user_attr("who", {"name": "optuna", "é": [1, 2.5, None]})
    return x * 10 + abs(n - 4) + (0 if c == "a" else 1)


def open_storage(kind, folder, name):
    path = os.path.join(folder, name)
    if kind == "postgres":
        return server.urls(name)
    if kind == "sqlite":
        return f"sqlite:///{path}.db", f"{path}.db"
    backend = optuna.storages.journal.JournalFileBackend(path + ".log")
    return optuna.storages.JournalStorage(backend), path + ".log"


def check(study, total):
    trials = study.get_trials()
    assert [t.number for t in trials] == list(range(total)), [t.number for t in trials]
    assert all(t.state == TrialState.COMPLETE for t in trials), [t.state for t in trials]
    for t in trials:
        assert set(t.params) == {"x", "n", "c"}, t.params
        assert t.distributions["x"] == optuna.distributions.FloatDistribution(1e-5, 0.1, log=True)
        assert t.distributions["c"].choices == ("a", None, True, 1.5)
        expected = t.params["x"] * 10 + abs(t.params["n"] - 4) + (0 if t.params["c"] == "a" else 1)
        assert abs(t.value - expected) < 1e-12
        assert t.intermediate_values[0] == t.params["n"] and t.intermediate_values[1] != t.intermediate_values[1]
        assert t.user_attrs["who"]["é"] == [1, 2.5, None]
        assert t.datetime_start <= t.datetime_complete
    assert {t.user_attrs["who"]["name"] for t in trials} == {"optuna", "hone"}


def same_tables(theirs, ours):
    """Columns, defaults, keys and enumerations of the tables that Optuna makes and of those of hone."""
    def described(schema):
        of = f"table_schema='{schema}'"
        text = server.psql(
            f"SELECT table_name, column_name, data_type, udt_name, is_nullable, character_maximum_length, column_default FROM "
            f"information_schema.columns WHERE {of} ORDER BY 1, ordinal_position; "
            f"SELECT c.conrelid::regclass, conname, pg_get_constraintdef(c.oid) FROM pg_constraint c WHERE "
            f"connamespace='{schema}'::regnamespace ORDER BY 1, 2; "
            f"SELECT t.typname, enumlabel FROM pg_enum e JOIN pg_type t ON t.oid=enumtypid WHERE "
            f"typnamespace='{schema}'::regnamespace ORDER BY 1, enumsortorder; "
            f"SELECT indexname, indexdef FROM pg_indexes WHERE schemaname='{schema}' AND "
            f"indexname<>'trials_study_id_number_key' ORDER BY 1")
        return text.replace(schema + ".", "").splitlines()
    a, b = described(theirs), described(ours)
    assert a == b, [(x, y) for x, y in zip(a, b) if x != y] + [len(a), len(b)]
    print(f"Optuna {optuna.__version__}, postgres: {len(a)} columns, keys, indexes and words of the tables are the same")


def heartbeats(url, path, name):
    """A trial of a lost worker of theirs is tried again by ours."""
    storage = optuna.storages.RDBStorage(url, heartbeat_interval=1, grace_period=2)
    study = optuna.create_study(storage=storage, study_name=name)
    lost = study.ask({"x": optuna.distributions.FloatDistribution(1e-5, 0.1, log=True)})
    storage.record_heartbeat(lost._trial_id)
    time.sleep(3)
    hone(path, name, 2, "random", "1")
    trials = optuna.load_study(storage=url, study_name=name).trials
    assert trials[0].state == TrialState.FAIL and trials[1].params["x"] == lost.params["x"], trials
    assert trials[1].state == TrialState.COMPLETE and trials[1].system_attrs["failed_trial"] == 0
    print(f"Optuna {optuna.__version__}, {url.split(':')[0]}: a lost trial of theirs is tried again here")


def killed(kind, folder, kills=30):
    """Four workers that are killed at random moments; Optuna opens what they leave and goes on."""
    url, path = open_storage(kind, folder, "killed")

    def start():
        return subprocess.Popen([worker, path, "s", "1000000", "random"])

    workers = [start() for _ in range(4)]
    for _ in range(kills):
        time.sleep(random.uniform(0.005, 0.08))
        victim = random.randrange(4)
        workers[victim].kill()
        assert workers[victim].wait() == -9
        workers[victim] = start()
    for w in workers:
        w.kill()
        w.wait()
    study = optuna.load_study(storage=url, study_name="s")
    before = len(study.trials)
    study.optimize(objective, n_trials=5)
    trials = optuna.load_study(storage=open_storage(kind, folder, "killed")[0], study_name="s").trials
    assert [t.number for t in trials] == list(range(before + 5))
    complete = [t for t in trials if t.state == TrialState.COMPLETE]
    assert all(len(t.params) == 3 and t.value is not None and "who" in t.user_attrs for t in complete)
    print(f"Optuna {optuna.__version__}, {kind}: opened and gone on with after {kills + 4} kills of workers, {len(trials)} trials, "
          f"{len(trials) - len(complete)} of them cut off")


def dashboard(url, trials):
    """What optuna-dashboard's page asks its server for."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = os.path.join(os.path.dirname(sys.executable), "optuna-dashboard")
    serving = subprocess.Popen([program, url, "--host", "127.0.0.1", "--port", str(port)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        for attempt in range(60):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/studies") as reply:
                    summaries = json.load(reply)["study_summaries"]
                break
            except OSError:
                assert attempt < 59
                time.sleep(0.5)
        shown = next(s["study_id"] for s in summaries if s["study_name"] == "s")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/studies/{shown}?after=0") as reply:
            found = json.load(reply)["trials"]
        assert len(found) == trials and all({p["name"] for p in t["params"]} == {"x", "n", "c"} for t in found), len(found)
        print(f"optuna-dashboard, {url.split(':')[0]}: shows {len(found)} trials")
    finally:
        serving.terminate()


with tempfile.TemporaryDirectory() as folder, postgres.Server(folder, "postgres" in kinds) as server:
    for kind in kinds:
        url, path = open_storage(kind, folder, "theirs")
        study = optuna.create_study(storage=url, study_name="s")
        study.optimize(objective, n_trials=15)
        study.enqueue_trial({"x": 0.05, "n": 4, "c": None})
        hone(path, "s", 15)
        enqueued = study.trials[15]
        assert enqueued.params == {"x": 0.05, "n": 4, "c": None} and enqueued.user_attrs["who"]["name"] == "hone"
        study.optimize(objective, n_trials=5)
        hone(path, "s", 5)
        check(optuna.load_study(storage=open_storage(kind, folder, "theirs")[0], study_name="s"), 40)

        url, path = open_storage(kind, folder, "ours")
        if kind == "journal":
            os.path.exists(path) and os.remove(path)
        hone(path, "s", 15)
        study = optuna.load_study(storage=open_storage(kind, folder, "ours")[0], study_name="s")
        study.optimize(objective, n_trials=15)
        study.enqueue_trial({"x": 0.05})
        hone(path, "s", 5)
        check(study, 35)
        print(f"Optuna {optuna.__version__}, {kind}: made there and gone on with here, and the other way round; best "
              f"{study.best_value:.6f}")

        # Both at once: numbers stay unique.
        both = [subprocess.Popen([worker, path, "s", "30", "random"]) for _ in range(2)]
        study.optimize(objective, n_trials=20)
        assert all(p.wait() == 0 for p in both)
        check(optuna.load_study(storage=open_storage(kind, folder, "ours")[0], study_name="s"), 115)
        print(f"Optuna {optuna.__version__}, {kind}: three workers at once, 80 trials, each number once")
        if kind == "postgres":
            same_tables("theirs", "ours")
        if kind != "journal" and importlib.util.find_spec("optuna_dashboard"):
            dashboard(url, 115)
        if kind != "journal":
            killed(kind, folder)
            heartbeats(*open_storage(kind, folder, "theirs"), "lost")
