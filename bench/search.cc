// What studies cost, for bench/search.py, which runs it beside Optuna.
//   bench_search storages FOLDER         whole trials a second (ask for 24 parameters, tell), and an append with its
//   fsync bench_search ask                     how long asking TPE for a trial takes beside a history of random trials
//   bench_search resume FOLDER           opening a study of 100,000 trials and one trial more
//   bench_search work PLACE SECONDS      one of several workers on one study: prints its trials
//   bench_search quality PROBLEM SEEDS   what a study of some trials found, for each seed (bench/search_quality.py)
//   bench_search write PLACE SECONDS N   the same rows by a minimal writer to PostgreSQL that waits for the disk N
//   times a
//                                        trial, 1 or 2
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/philox.h"
#include "study/samplers/make_sampler.h"
#include "study/storages/postgres_database.h"
#include "study/study.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Space categories() {
  Space space;
  std::vector<Json> choices;
  for (int i = 0; i < 13; ++i) choices.emplace_back(i);
  for (int i = 0; i < 24; ++i) {
    const std::string name = fmt::format("c{}", i);
    space.add({name, category_distribution(name, choices)});
  }
  return space;
}

Space floats(int count) {
  Space space;
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("f{}", i);
    space.add({name, real_distribution(name, 0, 1)});
  }
  return space;
}

std::vector<double> squares(LiveTrial& trial) {
  double sum = 0;
  for (const TrialParameter& p : trial.record().parameters) sum += (p.value - 0.3) * (p.value - 0.3);
  return {sum};
}

// Milliseconds of one ask; nothing is told, so that the history stays as it is but for what runs.
void ask(const char* space_name, const Space& space, const char* mode,
         std::vector<std::pair<std::string, std::string>> options) {
  for (int64_t size : {100, 1000, 10000}) {
    const auto storage = open_storage("memory");
    Study history(storage, {}, make_sampler("random", 0));
    history.optimize(squares, {.trials = size}, &space);
    Study study(storage, {.seed = 1}, make_sampler("tpe", 1, options));
    std::vector<double> times;
    for (int i = 0; i < 53; ++i) {
      const auto start = Clock::now();
      LiveTrial trial = study.ask(space);
      if (i >= 3) times.push_back(seconds_since(start) * 1e3);  // the first ones read the history
      study.tell(trial, TrialState::failed);
    }
    std::ranges::sort(times);
    fmt::print(
        "{{\"what\": \"tpe ask\", \"space\": \"{}\", \"sampler\": \"{}\", \"trials\": {}, \"value\": {:.4f}, \"p10\": "
        "{:.4f}, \"p90\": {:.4f}, \"unit\": \"ms\"}}\n",
        space_name, mode, size, times[times.size() / 2], times[times.size() / 10], times[times.size() * 9 / 10]);
  }
}

// Five parts of some trials each: trials a second in the middle one.
void throughput(const std::string& name, const std::string& place, int64_t trials, bool durable) {
  const Space space = floats(24);
  Study study(open_storage(place, {.durable = durable}), {}, make_sampler("random", 0));
  std::vector<double> rates;
  for (int part = 0; part < 5; ++part) {
    const auto start = Clock::now();
    study.optimize(squares, {.trials = trials}, &space);
    rates.push_back(static_cast<double>(trials) / seconds_since(start));
  }
  std::ranges::sort(rates);
  fmt::print(
      "{{\"what\": \"random trials\", \"storage\": \"{}\", \"value\": {:.0f}, \"least\": {:.0f}, \"most\": {:.0f}, "
      "\"unit\": \"trials/s\"}}\n",
      name, rates[2], rates.front(), rates.back());
}

// What a study adds to trials that take a tenth of a second, by TPE and on a disk: of their time.
void overhead(const std::string& place) {
  const Space space = floats(24);
  Study study(open_storage(place), {}, make_sampler("tpe", 0));
  double inside = 0;
  const auto trial = [&](LiveTrial& live) {
    const auto start = Clock::now();
    const std::vector<double> value = squares(live);
    while (seconds_since(start) < 0.1) continue;
    inside += seconds_since(start);
    return value;
  };
  const auto start = Clock::now();
  study.optimize(trial, {.trials = 100}, &space);
  fmt::print("{{\"what\": \"overhead\", \"value\": {:.5f}}}\n", seconds_since(start) / inside - 1);
}

// What a disk allows: 4 KiB appended to a file, and on the disk, a second.
void appends(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const std::string page(4096, 'x');
  constexpr int kTimes = 300;
  const auto start = Clock::now();
  for (int i = 0; i < kTimes; ++i)
    if (::write(file, page.data(), page.size()) != static_cast<ssize_t>(page.size()) || ::fdatasync(file) != 0)
      fail("{}: can't be written", path);
  ::close(file);
  fmt::print("{{\"what\": \"append and fsync\", \"value\": {:.0f}, \"unit\": \"1/s\"}}\n",
             kTimes / seconds_since(start));
}

void resume(const std::string& name, const std::string& place) {
  const Space space = floats(10);
  constexpr int kTrials = 100000;
  {
    const auto storage = open_storage(place);
    const Study made(storage, {}, make_sampler("random", 0));
    Philox rng(1);
    std::vector<DistributionPtr> distributions;
    for (const SpaceParameter& p : space.parameters())
      distributions.push_back(std::make_shared<const Distribution>(p.distribution));
    // As a study writes them: a trial begins, gets its parameters and is told.
    for (int i = 0; i < kTrials; ++i) {
      const TrialRecord begun = storage->begin_trial(made.record().id, 1);
      TrialChanges changes{.state = TrialState::complete, .values = {rng.uniform()}, .ended = 2};
      for (size_t k = 0; k < distributions.size(); ++k)
        changes.parameters.push_back({space.parameters()[k].name, rng.uniform(), distributions[k]});
      storage->change({made.record().id, begun.id, begun.number}, changes);
    }
  }
  std::vector<double> opened, gone_on;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    Study study(open_storage(place), {}, make_sampler("tpe", 0));
    if (static_cast<int>(study.trials()->size()) < kTrials) fail("trials are missing");
    opened.push_back(seconds_since(start));
    study.optimize(squares, {.trials = 1}, &space);
    gone_on.push_back(seconds_since(start));
  }
  std::ranges::sort(opened);
  std::ranges::sort(gone_on);
  fmt::print(
      "{{\"what\": \"open {} trials\", \"storage\": \"{}\", \"value\": {:.3f}, \"with_a_trial\": {:.3f}, \"unit\": "
      "\"s\"}}\n",
      kTrials, name, opened[2], gone_on[2]);
}

void work(const std::string& place, double seconds) {
  const Space space = floats(20);
  Study study(open_storage(place), {}, make_sampler("random", static_cast<uint64_t>(::getpid())));
  const auto start = Clock::now();
  int64_t done = 0;
  while (seconds_since(start) < seconds) done += study.optimize(squares, {.trials = 10}, &space);
  fmt::print("{}\n", static_cast<double>(done) / seconds_since(start));
}

// Two transactions a trial, each in one round trip, its parameters in one statement of many rows.
void write(const std::string& place, double seconds, int flushes) {
  Study study(open_storage(place), {.name = "minimal"}, make_sampler("random", 0));
  const int64_t id = study.record().id;
  const std::string json = real_distribution("x", 0, 1).json();
  PostgresDatabase database(place, {});
  const std::string flush = fmt::format("SELECT set_config('synchronous_commit', '{}', true)", database.commit_level());
  std::string rows;
  for (int i = 0; i < 20; ++i) rows += fmt::format("{}($1::int, 'f{}', ${}::float8, $2)", i ? ", " : "", i, i + 3);
  Philox rng(static_cast<uint64_t>(::getpid()));
  const auto start = Clock::now();
  int64_t done = 0;
  for (; seconds_since(start) < seconds; ++done) {
    std::vector<PgStatement> begin{{"SELECT study_id FROM studies WHERE study_id=$1 FOR UPDATE"},
                                   {"INSERT INTO trials (number, study_id, state, datetime_start) VALUES ((SELECT "
                                    "coalesce(max(number), -1)+1 FROM trials WHERE study_id=$1), $1, 'RUNNING', "
                                    "localtimestamp) RETURNING trial_id"}};
    for (PgStatement& s : begin) s.values.add(id);
    if (flushes > 1) begin.push_back({flush});
    const int64_t trial = database.run(begin)[1].integer(0, 0);
    std::vector<PgStatement> tell{
        {"INSERT INTO trial_params (trial_id, param_name, distribution_json, param_value) SELECT a, b, d, c FROM "
         "(VALUES " +
         rows + ") AS x(a, b, c, d)"},
        {"INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES ($1, 0, $2, 'FINITE')"},
        {"UPDATE trials SET state='COMPLETE', datetime_complete=localtimestamp WHERE trial_id=$1"},
        {flush}};
    tell[0].values.add(trial).add(json);
    for (int i = 0; i < 20; ++i) tell[0].values.add(fmt::format("{}", rng.uniform()));
    tell[1].values.add(trial).add("0.5");
    tell[2].values.add(trial);
    database.run(tell);
  }
  fmt::print("{}\n", static_cast<double>(done) / seconds_since(start));
}

// Problems of bench/search_quality.py, which has the same functions.
struct Problem {
  const char* name;
  const char* sampler;
  std::vector<std::pair<std::string, std::string>> options;
  int parameters, trials;
  double low, high;
  size_t objectives = 1;
};
const Problem kProblems[] = {
    {"sphere", "tpe", {}, 5, 50, -5, 5},
    {"rosenbrock", "tpe", {}, 4, 60, -2, 2},
    {"categorical", "tpe", {}, 8, 60, 0, 0},
    {"zdt1", "tpe", {}, 5, 60, 0, 1, 2},
    {"zdt1 nsga2", "nsga2", {{"population", "20"}}, 5, 200, 0, 1, 2},
};

std::vector<double> values_of(const Problem& problem, const std::vector<double>& x) {
  const std::string_view name = problem.name;
  double sum = 0;
  if (name == "sphere") {
    for (double v : x) sum += (v - 1) * (v - 1);
  } else if (name == "rosenbrock") {
    for (size_t i = 0; i + 1 < x.size(); ++i) sum += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
  } else if (name == "categorical") {
    for (size_t i = 0; i < x.size(); ++i) {
      const int c = static_cast<int>(x[i]), next = static_cast<int>(x[(i + 1) % x.size()]);
      sum += (5 * c + 3 * static_cast<int>(i) + 1) % 7 / 7.0 + (c * next % 3 == 1 ? 0.5 : 0);
    }
  } else {
    for (size_t i = 1; i < x.size(); ++i) sum += x[i];
    const double g = 1 + 9 * sum / static_cast<double>(x.size() - 1);
    return {x[0], g * (1 - std::sqrt(x[0] / g))};
  }
  return {sum};
}

// The best value, or minus the area that the front dominates below (1.1, 11).
double found_by(const Problem& problem, uint64_t seed) {
  Space space;
  for (int i = 0; i < problem.parameters; ++i) {
    const std::string name = fmt::format("x{}", i);
    space.add({name, problem.low == problem.high ? category_distribution(name, {0, 1, 2, 3, 4, 5})
                                                 : real_distribution(name, problem.low, problem.high)});
  }
  Study study(open_storage("memory"),
              {.directions = std::vector<Direction>(problem.objectives, Direction::minimize), .seed = seed},
              make_sampler(problem.sampler, seed, problem.options));
  study.optimize(
      [&](LiveTrial& trial) {
        std::vector<double> x;
        for (const TrialParameter& p : trial.record().parameters) x.push_back(p.value);
        return values_of(problem, x);
      },
      {.trials = problem.trials}, &space);
  std::vector<std::vector<double>> front;
  for (const TrialPtr& t : study.best()) front.push_back(t->values);
  if (problem.objectives == 1) return front.at(0)[0];
  std::ranges::sort(front);
  double area = 0, height = 11;
  for (const auto& f : front) {
    if (f[0] >= 1.1 || f[1] >= height) continue;
    area += (1.1 - f[0]) * (height - f[1]);
    height = f[1];
  }
  return -area;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) try {
  using namespace hone;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string part = words.empty() ? "" : words[0];
  if (part == "storages" && words.size() == 2) {
    const std::string& folder = words[1];
    throughput("memory", "memory", 20000, false);
    throughput("SQLite", folder + "/s.db", 1000, false);
    throughput("journal", folder + "/s.log", 1000, false);
    overhead(folder + "/o.db");
    appends(folder + "/appends");
    throughput("SQLite durable", folder + "/d.db", 200, true);
    appends(folder + "/appends");
    throughput("journal durable", folder + "/d.log", 200, true);
    appends(folder + "/appends");
  } else if (part == "ask" && words.size() == 1) {
    const Space many = categories(), few = floats(24);
    ask("24 categories of 13", many, "univariate", {{"multivariate", "false"}, {"constant-liar", "false"}});
    ask("24 categories of 13", many, "multivariate", {});
    ask("24 floats", few, "univariate", {{"multivariate", "false"}, {"constant-liar", "false"}});
    ask("24 floats", few, "multivariate", {});
  } else if (part == "resume" && words.size() == 2) {
    resume("SQLite", words[1] + "/many.db");
    resume("journal", words[1] + "/many.log");
  } else if (part == "work" && words.size() == 3) {
    work(words[1], std::stod(words[2]));
  } else if (part == "quality" && words.size() == 3) {
    for (const Problem& problem : kProblems)
      if (words[1] == problem.name)
        for (int seed = 0; seed < std::stoi(words[2]); ++seed)
          fmt::print("{}\n", found_by(problem, static_cast<uint64_t>(seed)));
  } else if (part == "write" && words.size() == 4) {
    write(words[1], std::stod(words[2]), std::stoi(words[3]));
  } else {
    fmt::print(stderr,
               "usage: bench_search storages FOLDER | ask | resume FOLDER | work PLACE SECONDS | quality PROBLEM SEEDS "
               "| write PLACE SECONDS 1|2\n");
    return 2;
  }
  return 0;
} catch (const hone::Error& e) {
  fmt::print(stderr, "bench_search: {}\n", e.what());
  return 1;
}
