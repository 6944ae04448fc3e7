// What studies promise, on each kind of storage.
#include "study/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <set>
#include <thread>

#include "base/log.h"
#include "base/stop.h"
#include "study/pruners/make_pruner.h"
#include "study/samplers/make_sampler.h"
#include "tests/study/postgres_server.h"
#include "tests/study/scratch.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

Space example_space() {
  Space space;
  space.add({"x", real_distribution("x", -5, 5)});
  space.add({"n", integer_distribution("n", 1, 64, 1, true)});
  space.add({"format", category_distribution("format", {"mxint4", "int4"})});
  space.add({"group", category_distribution("group", {32, 128}), {{"format", {"int4"}}}});
  space.tie("other", "format");
  return space;
}

std::vector<double> loss(LiveTrial& trial) {
  const Json v = trial.values();
  const double x = v["x"], n = v["n"];
  return {x * x + std::abs(std::log2(n) - 3) + (v["format"] == "int4" ? 0.0 : 1.0)};
}

class EachStorage : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) != "postgres") return;
    HONE_NEEDS_POSTGRES();
    place_ = PostgresServer::get()->new_place();
  }
  std::shared_ptr<Storage> open() {
    if (std::string(GetParam()) == "memory") {
      if (!memory_) memory_ = open_storage("memory");
      return memory_;
    }
    return open_storage(place_.empty() ? folder_.file(GetParam()) : place_);
  }
  Study study(StudyConfig config = {}, const char* sampler = "random", std::unique_ptr<Pruner> pruner = nullptr) {
    auto made = make_sampler(sampler, config.seed);
    return Study(open(), std::move(config), std::move(made), std::move(pruner));
  }
  const std::string& place() const { return place_; }
  ScratchFolder folder_;

 private:
  std::string place_;
  std::shared_ptr<Storage> memory_;
};
INSTANTIATE_TEST_SUITE_P(Places, EachStorage, testing::Values("memory", "study.db", "study.log", "postgres"),
                         [](const auto& info) {
                           const std::string place = info.param;
                           return place.substr(0, place.find('.')) + (place.ends_with("log") ? "_journal" : "");
                         });

TEST_P(EachStorage, KeepsWhatWasToldAndComesBackWithIt) {
  const Space space = example_space();
  {
    Study first = study();
    LiveTrial a = first.ask(space);
    a.report(3, 0);
    a.report(NAN, 1);
    a.set_user_attribute("note", {{"text", "é\"'; DROP TABLE trials; --"}, {"list", {1, 2.5, nullptr}}});
    a.set_constraints({-1, 0.5});
    EXPECT_EQ(first.tell(a, {INFINITY}), TrialState::complete);
    LiveTrial b = first.ask(space);
    b.report(2, 0);
    EXPECT_EQ(first.tell(b, TrialState::pruned), TrialState::pruned);
    LiveTrial c = first.ask(space);
    EXPECT_EQ(first.tell(c, {NAN}), TrialState::failed);
    LiveTrial d = first.ask(space);
    EXPECT_EQ(d.number(), 3);
    first.set_user_attribute("about", "it's");
  }
  Study again = study();
  const auto trials = again.trials();
  ASSERT_EQ(trials->size(), 4U);
  const TrialRecord& a = *(*trials)[0];
  EXPECT_EQ(a.state, TrialState::complete);
  EXPECT_EQ(a.values, std::vector<double>{INFINITY});
  ASSERT_EQ(a.intermediate.size(), 2U);
  EXPECT_TRUE(std::isnan(a.intermediate[1].second));
  EXPECT_EQ(a.user_attributes["note"]["text"], "é\"'; DROP TABLE trials; --");
  EXPECT_EQ(a.violation(), 0.5);
  EXPECT_GE(a.parameters.size(), 3U);
  EXPECT_TRUE(a.started && a.ended && *a.started <= *a.ended);
  EXPECT_EQ((*trials)[1]->state, TrialState::pruned);
  EXPECT_EQ((*trials)[1]->values, std::vector<double>{2});
  EXPECT_EQ((*trials)[2]->state, TrialState::failed);
  EXPECT_TRUE((*trials)[2]->values.empty());
  EXPECT_EQ((*trials)[3]->state, TrialState::running);
  EXPECT_FALSE((*trials)[3]->parameters.empty());
  EXPECT_EQ(again.record().user_attributes.is_null() ? "" : again.record().user_attributes["about"], "it's");
  EXPECT_TRUE(again.best().empty());  // the only complete one is not feasible
}

TEST_P(EachStorage, StoppedAndResumedIsTheSameAsAtOnce) {
  const Space space = example_space();
  for (const char* sampler : {"random", "tpe"}) {
    const std::string name = std::string("parts ") + sampler, whole = std::string("whole ") + sampler;
    {
      Study once = study({.name = whole, .seed = 7}, sampler);
      EXPECT_EQ(once.optimize(loss, {.trials = 40}, &space), 40);
    }
    for (int part = 0; part < 4; ++part) {
      Study some = study({.name = name, .seed = 7}, sampler);
      some.optimize(loss, {.trials = 10}, &space);
    }
    Study a = study({.name = whole}), b = study({.name = name});
    const auto ta = a.trials(), tb = b.trials();
    ASSERT_EQ(ta->size(), 40U);
    ASSERT_EQ(tb->size(), 40U);
    for (size_t i = 0; i < 40; ++i) {
      EXPECT_EQ((*ta)[i]->values, (*tb)[i]->values) << sampler << " " << i;
      ASSERT_EQ((*ta)[i]->parameters.size(), (*tb)[i]->parameters.size());
      for (size_t k = 0; k < (*ta)[i]->parameters.size(); ++k)
        EXPECT_EQ((*ta)[i]->parameters[k].value, (*tb)[i]->parameters[k].value) << sampler << " " << i;
    }
  }
}

TEST_P(EachStorage, EnqueuedPointsComeFirstAndOnce) {
  const Space space = example_space();
  Study s = study();
  EXPECT_TRUE(s.enqueue({{"x", 1.5}, {"format", "int4"}, {"group", 128}}));
  EXPECT_FALSE(s.enqueue({{"x", 1.5}, {"format", "int4"}}, true));
  EXPECT_TRUE(s.enqueue({{"x", 99}}));
  LiveTrial a = s.ask(space);
  EXPECT_EQ(a.number(), 0);
  EXPECT_EQ(a.values()["x"], 1.5);
  EXPECT_EQ(a.values()["group"], 128);
  EXPECT_EQ(a.values()["other"], "int4");
  EXPECT_THAT(error_of([&] { s.ask(space); }), HasSubstr("the enqueued value 99 is out of float -5 to 5"));
  EXPECT_EQ(s.ask(space).number(), 2);
  EXPECT_EQ((*s.trials())[1]->state, TrialState::failed);
}

TEST_P(EachStorage, AFinishedTrialCanNotChange) {
  const Space space = example_space();
  Study s = study();
  LiveTrial a = s.ask(space);
  LiveTrial copy = a;
  s.tell(a, {1.0});
  EXPECT_THAT(error_of([&] { s.tell(copy, {2.0}); }), HasSubstr("trial 0 has finished (COMPLETE)"));
  EXPECT_EQ((*s.trials())[0]->values[0], 1);
}

TEST_P(EachStorage, ADistributionCanNotChangeBetweenRuns) {
  {
    Study s = study();
    LiveTrial t = s.ask();
    t.suggest_real("rate", 0.1, 1, 0, true);
    t.suggest_category("format", {"a", "b"});
    s.tell(t, {1.0});
  }
  Study s = study();
  LiveTrial t = s.ask();
  EXPECT_THAT(error_of([&] { t.suggest_real("rate", 0.1, 1); }),
              HasSubstr("parameter rate was float 0.1 to 1, log in this study"));
  EXPECT_THAT(error_of([&] { t.suggest_category("format", {"a", "c"}); }), HasSubstr("choices can't change"));
  EXPECT_THAT(error_of([&] { t.suggest_integer("rate", 1, 2); }), HasSubstr("int 1 to 2 now"));
  t.suggest_real("rate", 0.01, 10, 0, true);  // ranges may
}

TEST_P(EachStorage, NamesAndDirectionsAreHeld) {
  study({.name = "a'b\"; DROP TABLE studies; --", .directions = {Direction::minimize, Direction::maximize}});
  EXPECT_THAT(error_of([&] { study({.name = "a'b\"; DROP TABLE studies; --"}); }), HasSubstr("other directions"));
  EXPECT_THAT(error_of([&] { study({.name = "c", .may_create = false}); }), HasSubstr("there is no study \"c\""));
  study({.name = "resnet"});
  EXPECT_THAT(error_of([&] { study({.name = "resnet", .may_resume = false}); }), HasSubstr("already"));
  EXPECT_THAT(error_of([&] { study({.name = "resnte", .may_create = false}); }), HasSubstr("Did you mean resnet"));
  EXPECT_EQ(open()->studies().size(), 2U);
}

TEST_P(EachStorage, DeletingLeavesTheOthersWhole) {
  const Space space = example_space();
  for (const char* name : {"a", "b"}) study({.name = name}).optimize(loss, {.trials = 5}, &space);
  const auto storage = open();
  storage->delete_study(find_study(*storage, "a").id);
  ASSERT_EQ(open()->studies().size(), 1U);
  Study b = study({.name = "b"});
  EXPECT_EQ(b.trials()->size(), 5U);
  EXPECT_EQ(b.optimize(loss, {.trials = 1}, &space), 1);
  EXPECT_EQ(b.trials()->back()->number, 5);
}

TEST_P(EachStorage, ThreadsShareAStudy) {
  const Space space = example_space();
  Study s = study({}, "tpe");
  for (int i = 0; i < 10; ++i) s.enqueue({{"x", 0.25 * i}});
  std::atomic<int> calls{0};
  const auto objective = [&](LiveTrial& t) {
    ++calls;
    return loss(t);
  };
  EXPECT_EQ(s.optimize(objective, {.trials = 60, .threads = 4}, &space), 60);
  EXPECT_EQ(calls, 60);
  std::set<int64_t> numbers, ids;
  for (const TrialPtr& t : *s.trials()) {
    EXPECT_EQ(t->state, TrialState::complete);
    numbers.insert(t->number);
    ids.insert(t->id);
  }
  EXPECT_EQ(numbers.size(), 60U);
  EXPECT_EQ(*numbers.rbegin(), 59);
  EXPECT_EQ(ids.size(), 60U);
}

TEST_P(EachStorage, OtherWorkersTrialsAreSeen) {
  if (std::string(GetParam()) == "memory") GTEST_SKIP() << "of one process";
  const Space space = example_space();
  Study a = study(), b = study();
  LiveTrial one = a.ask(space);
  LiveTrial two = b.ask(space);
  EXPECT_EQ(one.number(), 0);
  EXPECT_EQ(two.number(), 1);
  EXPECT_EQ(a.trials()->size(), 2U);
  b.tell(two, {4.0});
  EXPECT_EQ((*a.trials())[1]->state, TrialState::complete);
  a.tell(one, {3.0});
  EXPECT_EQ(b.best().at(0)->number, 0);
  a.enqueue({{"x", 1.0}});
  EXPECT_EQ(b.ask(space).number(), 2);
  EXPECT_EQ(a.ask(space).number(), 3);
}

TEST_P(EachStorage, AFailingObjectiveLeavesAFailedTrial) {
  const Space space = example_space();
  Study s = study();
  int calls = 0;
  const auto objective = [&](LiveTrial& t) -> std::vector<double> {
    if (++calls == 2) fail("too large");
    return loss(t);
  };
  EXPECT_THAT(error_of([&] { s.optimize(objective, {.trials = 3}, &space); }), HasSubstr("too large"));
  EXPECT_EQ(s.optimize(objective, {.trials = 2, .go_on = true}, &space), 2);
  const auto trials = s.trials();
  EXPECT_EQ((*trials)[1]->state, TrialState::failed);
  EXPECT_EQ((*trials)[1]->user_attributes["error"], "too large");
  EXPECT_EQ(trials->size(), 4U);
}

TEST_P(EachStorage, AStopPutsTheTrialBack) {
  const Space space = example_space();
  Json cut;
  {
    Study s = study();
    const auto objective = [&](LiveTrial& t) -> std::vector<double> {
      if (t.number() == 1) {
        cut = t.values();
        throw Stopped(Stop::interrupted);
      }
      return loss(t);
    };
    EXPECT_THROW(s.optimize(objective, {.trials = 5}, &space), Stopped);
  }
  Study s = study();
  EXPECT_EQ((*s.trials())[1]->state, TrialState::failed);
  LiveTrial again = s.ask(space);
  EXPECT_EQ(again.number(), 2);
  EXPECT_EQ(again.values(), cut);
  EXPECT_EQ(again.record().system_attributes["failed_trial"], 1);
}

TEST_P(EachStorage, ConstraintsHoldForEveryPoint) {
  Space space;
  space.add({"a", integer_distribution("a", 0, 10)});
  space.add({"b", integer_distribution("b", 0, 10)});
  space.constrain("a + b <= 6");
  Study s = study({}, "tpe");
  s.optimize([](LiveTrial& t) { return std::vector<double>{-double(t.values()["a"]) - double(t.values()["b"])}; },
             {.trials = 40}, &space);
  for (const TrialPtr& t : *s.trials()) EXPECT_LE(t->parameters[0].value + t->parameters[1].value, 6);
  EXPECT_EQ(s.best().at(0)->values[0], -6);
  Space none;
  none.add({"a", integer_distribution("a", 0, 10)});
  none.constrain("a <= -1");
  EXPECT_THAT(error_of([&] { study({.name = "none"}).ask(none); }), HasSubstr("no point that meets the constraints"));
}

// Those storages that keep signs of life. Time goes by as a test says, and no thread of a worker wakes up meanwhile.
class Heartbeats : public EachStorage {
 protected:
  static constexpr std::chrono::seconds kBetween{1000};
  StudyConfig config() {
    return {
        .heartbeat_seconds = static_cast<double>(kBetween.count()), .max_retries = 2, .clock = [this] { return now_; }};
  }
  std::unique_ptr<Study> worker() { return std::make_unique<Study>(open(), config(), make_sampler("random", 0)); }
  void pass(std::chrono::seconds time) { now_ += time; }
  // What a worker does whose clock is off by so much.
  void move_signs(const std::string& seconds) {
    if (std::string(GetParam()) == "postgres") {
      PostgresServer::get()->psql(
          place(), "UPDATE trial_heartbeats SET heartbeat = heartbeat + interval '" + seconds + " seconds'");
      return;
    }
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(folder_.file(GetParam()).c_str(), &database), SQLITE_OK);
    sqlite3_busy_timeout(database, 5000);
    const std::string sql = "UPDATE trial_heartbeats SET heartbeat = datetime(heartbeat, '" + seconds + " seconds')";
    ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  static TrialState state_of(const Study& study, const LiveTrial& trial) {
    return (*study.trials())[static_cast<size_t>(trial.number())]->state;
  }

 private:
  std::chrono::steady_clock::time_point now_{};
};
INSTANTIATE_TEST_SUITE_P(Places, Heartbeats, testing::Values("study.db", "postgres"), [](const auto& info) {
  return std::string(info.param).substr(0, std::string(info.param).find('.'));
});

TEST_P(Heartbeats, LostTrialsAreTriedAgainAndOnlySoOften) {
  const Space space = example_space();
  const auto ask_at_third_look = [&](Study& study) {
    for (int look = 0; look < 2; ++look, pass(kBetween)) {
      LiveTrial other = study.ask();
      study.tell(other, {1.0});
    }
    return study.ask(space);
  };
  const LiveTrial lost = worker()->ask(space);  // and is never told, as those below
  for (int retry = 0; retry < 2; ++retry) {
    const auto next = worker();
    EXPECT_EQ(ask_at_third_look(*next).values(), lost.values());
    EXPECT_EQ(state_of(*next, lost), TrialState::failed);
  }
  EXPECT_NE(ask_at_third_look(*worker()).values(), lost.values());
}

TEST(Workers, GiveNoSignsWhereNoneAreKept) {
  EXPECT_THAT(error_of([] { Study(open_storage("memory"), {.heartbeat_seconds = 1}, make_sampler("random", 0)); }),
              HasSubstr("no signs of life"));
}

TEST_P(Heartbeats, AFirstLookIsNoEvidence) {
  auto one = worker();
  const LiveTrial trial = one->ask();
  for (const char* wrong : {"-5400", "+10800"}) {  // clocks of other machines
    move_signs(wrong);
    auto two = worker();
    two->ask();
    pass(kBetween / 2);
    two->ask();
    EXPECT_EQ(state_of(*two, trial), TrialState::running) << wrong;
  }
}

TEST_P(Heartbeats, WhoseSignChangesIsAliveWhateverTimeItSays) {
  auto one = worker(), two = worker();
  LiveTrial alive = one->ask();
  two->ask();
  for (const char* moved : {"-5400", "-1", "+9000", "+1", "-3000", "+1"}) {
    move_signs(moved);
    pass(kBetween);
    two->ask();
  }
  EXPECT_EQ(one->tell(alive, {2.0}), TrialState::complete);
}

TEST_P(Heartbeats, OneStandstillOfAllWorkersIsNoEvidence) {
  auto one = worker(), two = worker();
  const LiveTrial trial = one->ask();
  two->ask();
  pass(100 * kBetween);
  two->ask();
  EXPECT_EQ(state_of(*two, trial), TrialState::running);
  pass(kBetween);
  two->ask();
  EXPECT_EQ(state_of(*two, trial), TrialState::failed);
}

TEST_P(EachStorage, ATrialThatAnotherEndedIsDroppedAndTheNextAskedFor) {
  std::vector<std::string> notes;
  set_log_sink([&](LogLevel, std::string_view text) { notes.emplace_back(text); });
  Study s = study();
  const auto ended_by_another = [&](const LiveTrial& t) {
    s.storage().change({s.record().id, t.record().id, t.number()}, {.state = TrialState::failed, .ended = 1});
  };
  const int64_t done = s.optimize(
      [&](LiveTrial& t) {
        if (t.number() < 4) ended_by_another(t);
        if (t.number() == 1) t.report(1, 0);
        if (t.number() == 2) throw TrialPruned();
        if (t.number() == 3) throw Error("the disk is full");
        return std::vector{1.0};
      },
      {.trials = 6, .go_on = true});
  set_log_sink({});
  EXPECT_EQ(done, 6);
  for (const TrialPtr& t : *s.trials())
    EXPECT_EQ(t->state, t->number < 4 ? TrialState::failed : TrialState::complete) << t->number;
  EXPECT_THAT(notes, testing::ElementsAre(HasSubstr("trial 0 was ended by another worker"), HasSubstr("trial 1"),
                                          HasSubstr("trial 2"), HasSubstr("trial 3")));
  LiveTrial trial = s.ask();
  ended_by_another(trial);
  EXPECT_THROW(s.tell(trial, {1.0}), TrialEnded);
  EXPECT_NO_THROW(s.retry(trial));
}

// What Optuna may have kept: the values are doubles there, and the range is text.
TEST_P(EachStorage, IntegersBeyondTheExactOnesAreReadAndKept) {
  if (std::string(GetParam()) == "memory") GTEST_SKIP() << "keeps what it is given";
  constexpr const char* kRange =
      R"({"name": "IntDistribution", "attributes": {"log": false, "step": 1, "low": 0, "high": 4611686018427387903}})";
  const auto seeds = std::make_shared<const Distribution>(parse_distribution(kRange, "seed", "test"));
  const auto sizes =
      std::make_shared<const Distribution>(category_distribution("size", {(int64_t{1} << 60) + 1, int64_t{1} << 60}));
  {
    Study s = study();
    s.storage().create_trial(s.record().id, {.state = TrialState::complete,
                                             .parameters = {{"seed", 0x1p62, seeds}, {"size", 1, sizes}},
                                             .values = {1.0},
                                             .user_attributes = {{"rows", (int64_t{1} << 60) + 1}}});
  }
  const auto storage = open();
  const TrialPtr trial = storage->trials(storage->studies().at(0).id)->at(0);
  EXPECT_EQ(trial->find("seed")->distribution->json(), kRange);
  EXPECT_EQ(trial->find("seed")->distribution->text(trial->find("seed")->value), "4611686018427387904");
  EXPECT_EQ(trial->find("size")->distribution->text(1), "1152921504606846976");
  EXPECT_EQ(trial->user_attributes["rows"], (int64_t{1} << 60) + 1);
  // A search goes on beside them, but not in such a range.
  for (const char* sampler : {"random", "tpe", "nsga2"}) {
    Study s = study({}, sampler);
    s.optimize([](LiveTrial& t) { return std::vector{t.suggest_real("x", 0, 1)}; }, {.trials = 15});
    LiveTrial last = s.ask();
    EXPECT_THAT(error_of([&] { last.suggest_integer("seed", 0, int64_t{1} << 62); }),
                testing::AllOf(HasSubstr("parameter seed"), HasSubstr("2^53")));
  }
}

TEST(Places, AreKnownByWhatIsThere) {
  const ScratchFolder folder;
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(folder.file(name)) << text;
    return folder.file(name);
  };
  EXPECT_THAT(error_of([&] { open_storage(write("other.db", "hello world, this is text")); }),
              HasSubstr("neither a SQLite database nor a journal"));
  EXPECT_THAT(error_of([&] { open_storage("mysql://me:secret@host/db"); }),
              testing::AllOf(HasSubstr("mysql://***@host/db"), testing::Not(HasSubstr("secret"))));
  EXPECT_THAT(error_of([&] { open_storage(folder.file("no/such/folder.db")); }), HasSubstr("can't be opened"));
  EXPECT_THAT(error_of([&] { open_storage(folder.file("absent.db"), {.may_create = false}); }),
              HasSubstr("no such file"));
  EXPECT_THAT(error_of([&] { open_storage(folder.file("")); }), HasSubstr("no plain file"));
  open_storage(folder.file("a.db"))->create_study("x", std::vector{Direction::minimize});
  EXPECT_EQ(open_storage("sqlite:///" + folder.file("a.db"))->studies().size(), 1U);
  open_storage("journal:" + folder.file("b.db"))->create_study("y", std::vector{Direction::minimize});
  EXPECT_EQ(open_storage(folder.file("b.db"))->studies()[0].name, "y");
}

}  // namespace
}  // namespace hone
