// bench_search FOLDER: what studies cost, as lines of JSON. How long asking for a trial takes beside a history of
// random trials, and how many whole trials a second (ask for ten parameters, tell) each storage takes. bench/search.py
// runs it beside Optuna.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "search/samplers/make_sampler.h"
#include "search/study.h"

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

Space floats() {
  Space space;
  for (int i = 0; i < 10; ++i) {
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
  const Space space = floats();
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

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: bench_search FOLDER   (an empty one, for studies)\n");
    return 2;
  }
  const std::string folder = argv[1];
  using namespace hone;
  throughput("memory", "memory", 20000, false);
  throughput("SQLite", folder + "/s.db", 1000, false);
  throughput("SQLite durable", folder + "/d.db", 200, true);
  throughput("journal", folder + "/s.log", 1000, false);
  throughput("journal durable", folder + "/d.log", 200, true);
  const Space many = categories(), few = floats();
  ask("24 categories of 13", many, "univariate", {{"multivariate", "false"}, {"constant-liar", "false"}});
  ask("24 categories of 13", many, "multivariate", {});
  ask("10 floats", few, "univariate", {{"multivariate", "false"}, {"constant-liar", "false"}});
  ask("10 floats", few, "multivariate", {});
  return 0;
}
