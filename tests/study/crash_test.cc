// Workers that are killed at random moments: what was acknowledged stays, once, and no number is given twice.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "study/samplers/make_sampler.h"
#include "study/study.h"
#include "tests/study/exercise_journal.h"
#include "tests/study/postgres_server.h"
#include "tests/study/scratch.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

// Works until it is killed. Behind each tell() that has returned stands a line in `acknowledged`, written at once.
[[noreturn]] void work(const std::string& place, const std::string& acknowledged, uint64_t seed) {
  try {
    const int file = ::open(acknowledged.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    Study study(open_storage(place), {.seed = seed}, make_sampler("random", seed));
    for (;;) {
      LiveTrial trial = study.ask();
      const double x = trial.suggest_real("x", 0, 1);
      trial.report(x / 2, 0);
      trial.set_user_attribute("seed", seed);
      study.tell(trial, {x});
      const std::string line = fmt::format("{} {:.17g}\n", trial.number(), x);
      if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(3);
    }
  } catch (...) {
    _exit(2);
  }
}

class KilledWorkers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Places, KilledWorkers, testing::Values("sqlite", "postgres"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(KilledWorkers, LoseNothingThatWasAcknowledged) {
  const bool on_server = std::string(GetParam()) == "postgres";
  if (on_server) HONE_NEEDS_POSTGRES();
  const ScratchFolder folder;
  const std::string place = on_server ? PostgresServer::get()->new_place() : folder.file("s.db");
  const std::string acknowledged = folder.file("acknowledged");
  const int kills = std::getenv("HONE_TEST_FULL") ? 300 : 30;
  constexpr int kEnqueued = 40;
  {
    Study study(open_storage(place), {}, make_sampler("random", 0));
    for (int i = 0; i < kEnqueued; ++i) study.enqueue({{"x", i / 64.0}});
  }
  Philox rng(static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
  std::vector<pid_t> workers(4, 0);
  uint64_t seed = 0;
  const auto start = [&] {
    const pid_t child = ::fork();
    if (child == 0) work(place, acknowledged, seed);
    ++seed;
    return child;
  };
  for (pid_t& worker : workers) worker = start();
  for (int round = 0; round < kills; ++round) {
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + rng.below(40000)));
    pid_t& victim = workers[rng.below(4)];
    ::kill(victim, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(victim, &status, 0), victim);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a worker ended by itself with " << WEXITSTATUS(status);
    victim = start();
  }
  for (pid_t worker : workers) {
    ::kill(worker, SIGKILL);
    ::waitpid(worker, nullptr, 0);
  }

  std::map<int64_t, double> expected;
  std::ifstream lines(acknowledged);
  int64_t number = 0;
  double value = 0;
  while (lines >> number >> value) EXPECT_TRUE(expected.emplace(number, value).second) << "twice: " << number;
  ASSERT_GT(expected.size(), 50U);

  Study study(open_storage(place), {}, make_sampler("random", 0));
  const auto trials = study.trials();
  std::set<int64_t> numbers;
  std::map<double, int> finished_of_enqueued;
  for (const TrialPtr& trial : *trials) {
    EXPECT_TRUE(numbers.insert(trial->number).second) << "number twice: " << trial->number;
    if (trial->state == TrialState::complete && trial->number < kEnqueued) ++finished_of_enqueued[trial->values.at(0)];
    if (trial->state == TrialState::complete) {  // whole, not a part of it
      EXPECT_EQ(trial->values.at(0), trial->parameters.at(0).value);
      EXPECT_EQ(trial->intermediate.size(), 1U);
      EXPECT_TRUE(trial->user_attributes.contains("seed"));
    }
  }
  EXPECT_EQ(*numbers.rbegin() + 1, static_cast<int64_t>(numbers.size()));
  for (const auto& [n, v] : expected) {
    const TrialRecord& trial = *(*trials)[static_cast<size_t>(n)];
    EXPECT_EQ(trial.state, TrialState::complete) << n;
    EXPECT_EQ(trial.values, std::vector{v}) << n;
  }
  for (const auto& [v, times] : finished_of_enqueued) EXPECT_EQ(times, 1) << v;
  RecordProperty("killed", kills);
  RecordProperty("acknowledged", static_cast<int>(expected.size()));
}

TEST(Workers, MayBeginAtOnce) {
  for (int round = 0; round < 10; ++round) {
    const ScratchFolder folder;
    const std::string place = folder.file("s.db");
    std::vector<pid_t> workers;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        try {
          Study study(open_storage(place), {}, make_sampler("random", 0));
          LiveTrial trial = study.ask();
          study.tell(trial, {1.0});
          _exit(0);
        } catch (...) {
          _exit(1);
        }
      }
      workers.push_back(child);
    }
    for (pid_t worker : workers) {
      int status = 0;
      ::waitpid(worker, &status, 0);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    const auto storage = open_storage(place);
    ASSERT_EQ(storage->studies().size(), 1U);
    EXPECT_EQ(storage->trials(storage->studies()[0].id)->size(), 4U);
  }
}

TEST(Journals, ATornLineIsCutByTheNextWriter) {
  const ScratchFolder folder;
  const std::string place = folder.file("s.log");
  {
    Study study(open_storage(place), {}, make_sampler("random", 0));
    LiveTrial t = study.ask();
    study.tell(t, {1.0});
  }
  std::ofstream(place, std::ios::app) << R"({"op_code":4,"worker_id":"x","stu)";
  {
    Study study(open_storage(place), {}, make_sampler("random", 0));
    EXPECT_EQ(study.trials()->size(), 1U);
    LiveTrial t = study.ask();
    EXPECT_EQ(t.number(), 1);
    study.tell(t, {2.0});
  }
  Study study(open_storage(place), {}, make_sampler("random", 0));
  EXPECT_EQ(study.trials()->size(), 2U);
  EXPECT_EQ(study.best().at(0)->values[0], 1);
  std::ofstream(place, std::ios::app) << "{\"op_code\":77,\"trial_id\":0}\nnonsense\n";
  EXPECT_THAT(error_of([&] { open_storage(place); }), HasSubstr("line "));
}

TEST(Journals, ALockThatIsHeldIsSaid) {
  const ScratchFolder folder;
  const std::string place = folder.file("s.log");
  Study study(open_storage(place, {.wait_seconds = 0.05}), {}, make_sampler("random", 0));
  ASSERT_EQ(::symlink(place.c_str(), (place + ".lock").c_str()), 0);
  EXPECT_THAT(error_of([&] { study.ask(); }), HasSubstr("another process has held"));
}

// What fn returns, in a process of its own: limits and rights are for all that a process does.
int in_a_process(const std::function<int()>& fn) {
  const pid_t child = ::fork();
  if (child == 0) _exit(fn());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Journals, AFullDiskIsSaidAndKeepsWhatWasThere) {
  const ScratchFolder folder;
  const std::string place = folder.file("s.log");
  EXPECT_EQ(in_a_process([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{64 << 10, 64 << 10};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              const std::string said = error_of([&] {
                Study study(open_storage(place), {}, make_sampler("random", 0));
                for (int i = 0; i < 1000; ++i) {
                  LiveTrial t = study.ask();
                  t.set_user_attribute("text", std::string(1000, 'x'));
                  study.tell(t, {double(i)});
                }
              });
              return said.find("What was written before is kept") != said.npos ? 0 : 1;
            }),
            0);
  Study study(open_storage(place), {}, make_sampler("random", 0));
  EXPECT_GT(study.trials()->size(), 10U);
  LiveTrial t = study.ask();  // with room again it goes on
  study.tell(t, {-1.0});
  EXPECT_EQ(study.best().at(0)->number, t.number());
}

TEST(Journals, ThatMayOnlyBeReadAreReadAndNotWritten) {
  const ScratchFolder folder;
  const std::string place = folder.file("s.log");
  Study(open_storage(place), {}, make_sampler("random", 0)).enqueue({{"x", 1}});
  std::filesystem::permissions(place, std::filesystem::perms{0444});
  std::filesystem::permissions(std::filesystem::path(place).parent_path(), std::filesystem::perms{0555});
  EXPECT_EQ(in_a_process([&] {
              if (::geteuid() == 0 && ::seteuid(65534) != 0) return 3;
              if (open_storage(place, {.read_only = true})->studies().size() != 1) return 2;
              return error_of([&] { open_storage(place); }).find("Permission denied") == std::string::npos ? 1 : 0;
            }),
            0);
}

// Bytes changed, cut and doubled: an Error or a study, and what is read can be worked with.
TEST(Journals, DamagedOnesNeverCrash) {
  const ScratchFolder folder;
  const std::string place = folder.file("s.log");
  {
    Study study(open_storage(place), {}, make_sampler("random", 0));
    study.enqueue({{"x", 0.5}});
    for (int i = 0; i < 4; ++i) {
      LiveTrial t = study.ask();
      t.suggest_real("x", 0, 1);
      t.suggest_category("c", {"a", nullptr});
      t.report(1, 0);
      t.set_constraints({-1});
      study.tell(t, {double(i)});
    }
  }
  std::ifstream file(place);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  constexpr std::string_view kBytes = "0123456789{}[]\",:-.eNaInfty\n";
  int opened = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    Philox rng(seed);
    std::string text = whole;
    for (uint32_t k = 0; k <= rng.below(3); ++k) {
      const size_t at = rng.below(static_cast<uint32_t>(text.size()));
      if (rng.next() & 1) text[at] = kBytes[rng.below(kBytes.size())];
      else if (rng.next() & 1) text.erase(at, 1 + rng.below(30));
      else text.insert(at, text.substr(rng.below(static_cast<uint32_t>(text.size())), rng.below(60)));
    }
    opened += exercise_journal(folder.file("d" + std::to_string(seed) + ".log"), text);
  }
  EXPECT_GT(opened, 100);
}

TEST(Journals, ALineOfATrialThatIsNotThereIsStillALineOfJson) {
  const ScratchFolder folder;
  const std::string path = folder.file("a.log");
  exercise_journal(path, R"({"op_code":0,"worker_id":"w","study_name":"s","directions":[1]})"
                         "\n"
                         R"({"op_code":5,"worker_id":"w","trial_id":7,"param_name":"x","param_value_internal":1,)"
                         R"("distribution":"\q"})"
                         "\n");  // no escape that JSON has
  EXPECT_FALSE(told_by_journal(path));
}

void run_sql(const std::string& path, const char* sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

class SqliteFile : public testing::Test {
 protected:
  void SetUp() override {
    Study study(open_storage(path_), {}, make_sampler("random", 0));
    LiveTrial t = study.ask();
    t.suggest_category("c", {"a", "b"});
    study.tell(t, {1.0});
  }
  ScratchFolder folder_;
  std::string path_ = folder_.file("s.db");
};

TEST_F(SqliteFile, OfANewerOrOlderSchemaIsRefused) {
  run_sql(path_, "UPDATE version_info SET schema_version=13");
  EXPECT_THAT(error_of([&] { open_storage(path_); }), HasSubstr("A newer program made it"));
  run_sql(path_, "UPDATE version_info SET schema_version=11");
  EXPECT_THAT(error_of([&] { open_storage(path_); }), HasSubstr("optuna storage upgrade"));
  run_sql(path_, "UPDATE version_info SET schema_version=12; UPDATE alembic_version SET version_num='v9.0.0.a'");
  EXPECT_THAT(error_of([&] { open_storage(path_); }), HasSubstr("A newer program made it"));
  run_sql(path_, "UPDATE alembic_version SET version_num='v3.0.0.d'");
  EXPECT_THAT(error_of([&] { open_storage(path_); }), HasSubstr("optuna storage upgrade"));
}

TEST_F(SqliteFile, OfSomethingElseIsRefused) {
  const std::string other = folder_.file("other.db");
  run_sql(other, "CREATE TABLE guests (name TEXT)");
  EXPECT_THAT(error_of([&] { open_storage(other); }), HasSubstr("database of something else"));
  std::ofstream(folder_.file("torn.db")) << "SQLite format 3" << std::string(200, 'x');
  EXPECT_THAT(error_of([&] { open_storage(folder_.file("torn.db")); }), HasSubstr("no SQLite database"));
}

TEST_F(SqliteFile, ForeignContentIsCheckedBeforeUse) {
  run_sql(path_, "UPDATE trial_params SET param_value=7");
  EXPECT_THAT(error_of([&] { Study(open_storage(path_), {}, make_sampler("tpe", 0)).trials(); }),
              HasSubstr("has choice 7 of 2"));
  run_sql(path_, "UPDATE trial_params SET param_value=1, distribution_json='{\"name\": \"Odd\", \"attributes\": {}}'");
  EXPECT_THAT(error_of([&] { Study(open_storage(path_), {}, make_sampler("tpe", 0)).trials(); }),
              HasSubstr("unknown distribution Odd"));
  run_sql(path_, "DELETE FROM trial_params; UPDATE trials SET state='DANCING'");
  EXPECT_THAT(error_of([&] { Study(open_storage(path_), {}, make_sampler("tpe", 0)).trials(); }),
              HasSubstr("unknown state DANCING"));
}

TEST_F(SqliteFile, ThatIsLockedIsSaid) {
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  Study study(open_storage(path_, {.wait_seconds = 0.05}), {}, make_sampler("random", 0));
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_THAT(error_of([&] { study.ask(); }), HasSubstr("another process has held its lock for more than 0.05 s"));
  EXPECT_EQ(study.trials()->size(), 1U);  // readers go on
  sqlite3_close(other);
  EXPECT_EQ(study.ask().number(), 1);
}

TEST_F(SqliteFile, ThatMayOnlyBeReadIsReadAndNotWritten) {
  namespace fs = std::filesystem;
  constexpr fs::perms kRead{0555};
  fs::permissions(path_, kRead);
  fs::permissions(fs::path(path_).parent_path(), kRead);
  EXPECT_EQ(in_a_process([&] {
              if (::geteuid() == 0 && ::seteuid(65534) != 0) return 4;
              const std::string writing = error_of([&] { open_storage(path_); });
              size_t studies = 0;
              const std::string reading =
                  error_of([&] { studies = open_storage(path_, {.read_only = true})->studies().size(); });
              if (writing.find("may only be read") == writing.npos) return 1;
              if (!reading.empty()) return 2;
              return studies == 1 ? 0 : 3;
            }),
            0);
}

TEST_F(SqliteFile, AFullDiskIsSaidAndKeepsWhatWasThere) {
  EXPECT_EQ(in_a_process([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{256 << 10, 256 << 10};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              const std::string said = error_of([&] {
                Study study(open_storage(path_), {}, make_sampler("random", 0));
                for (int i = 0; i < 10000; ++i) {
                  LiveTrial t = study.ask();
                  t.set_user_attribute("text", std::string(1000, 'x'));
                  study.tell(t, {2.0});
                }
              });
              return said.find("is the disk full") != said.npos || said.find("the disk is full") != said.npos ? 0 : 1;
            }),
            0);
  Study study(open_storage(path_), {}, make_sampler("random", 0));
  EXPECT_GT(study.trials()->size(), 3U);
  EXPECT_EQ(study.best().at(0)->values[0], 1);
}

}  // namespace
}  // namespace hone
