// Studies on a PostgreSQL server: what may go wrong with one, and credentials. What each storage promises is in
// study_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <thread>

#include "study/samplers/make_sampler.h"
#include "study/study.h"
#include "tests/study/postgres_server.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Postgres : public testing::Test {
 protected:
  void SetUp() override {
    HONE_NEEDS_POSTGRES();
    server_ = PostgresServer::get();
    place_ = server_->new_place();
  }
  Study study(const StorageOptions& options = {}) {
    return Study(open_storage(place_, options), {}, make_sampler("random", 0));
  }
  static int64_t told(Study& study, double value) {
    LiveTrial t = study.ask();
    t.suggest_real("x", 0, 1);
    study.tell(t, {value});
    return t.number();
  }
  std::string sql(const std::string& text) { return server_->psql(place_, text); }

  PostgresServer* server_ = nullptr;
  std::string place_;
};

TEST_F(Postgres, OfANewerOrOlderSchemaIsRefused) {
  study();
  sql("UPDATE version_info SET schema_version=13");
  EXPECT_THAT(error_of([&] { open_storage(place_); }), HasSubstr("A newer program made it"));
  sql("UPDATE version_info SET schema_version=11");
  EXPECT_THAT(error_of([&] { open_storage(place_); }), HasSubstr("optuna storage upgrade"));
  sql("UPDATE version_info SET schema_version=12; UPDATE alembic_version SET version_num='v9.0.0.a'");
  EXPECT_THAT(error_of([&] { open_storage(place_); }), HasSubstr("A newer program made it"));
}

TEST_F(Postgres, TablesOfSomethingElseAreLeftAlone) {
  sql("CREATE TABLE trials (accused TEXT)");
  EXPECT_THAT(error_of([&] { open_storage(place_); }), HasSubstr("has a table \"trials\" of something else"));
  EXPECT_EQ(
      sql("SELECT count(*) FROM pg_class WHERE relname='studies' AND relnamespace=current_schema()::regnamespace"),
      "0");
}

TEST_F(Postgres, WithoutTablesThereIsNothingToRead) {
  EXPECT_THAT(error_of([&] { open_storage(place_, {.read_only = true}); }), HasSubstr("holds no studies yet"));
  EXPECT_THAT(error_of([&] { open_storage(place_, {.may_create = false}); }), HasSubstr("holds no studies yet"));
}

TEST_F(Postgres, CredentialsAreNeverShown) {
  const std::string in_address = place_ + "&password=pa:ss%2Fwo%40rd";
  const auto storage = open_storage(in_address);
  EXPECT_THAT(storage->name(), AllOf(HasSubstr("password=***"), Not(HasSubstr("pa:ss"))));
  EXPECT_THAT(*credentials_warning(in_address), AllOf(HasSubstr("PGPASSFILE"), Not(HasSubstr("pa:ss"))));
  EXPECT_FALSE(credentials_warning(place_));
  EXPECT_FALSE(credentials_warning("study.db"));
  EXPECT_TRUE(credentials_warning("postgresql://hone:pa:ss@host/db"));
  for (const std::string& wrong : std::vector<std::string>{
           place_ + "&password=no-secret-key", "postgresql://hone:no-secret-key@[broken/db",
           "postgresql+psycopg2://hone:no-secret-key@localhost:1/db", "postgresql://hone:no-secret-key@%2Fnowhere/db",
           "postgresql:///db?password=no-secret-key&host=/nowhere"})
    EXPECT_THAT(error_of([&] { open_storage(wrong); }), AllOf(Not(testing::IsEmpty()), Not(HasSubstr("no-secret-key"))))
        << wrong;
  EXPECT_THAT(error_of([&] { open_storage(place_ + "&password=wrong"); }), HasSubstr("PGPASSFILE"));
  EXPECT_EQ(without_credentials("hone study list postgresql://a:b@c/d -o x@y.html"),
            "hone study list postgresql://***@c/d -o x@y.html");
}

TEST_F(Postgres, NamesThatTheServerCanNotKeepAreSaid) {
  Study s = study();
  LiveTrial t = s.ask();
  EXPECT_THAT(error_of([&] { t.report(1, int64_t{1} << 40); }), HasSubstr("steps go up to 2147483647"));
  LiveTrial u = s.ask();
  u.set_user_attribute(std::string(600, 'k'), 1);
  EXPECT_THAT(error_of([&] { s.tell(u, {1.0}); }), HasSubstr("at most 512 characters"));
  EXPECT_THAT(error_of([&] { s.storage().create_study(std::string("a\0b", 3), {}); }), HasSubstr("zero byte"));
  s.set_user_attribute("x'); DROP TABLE studies; --", "$1 'quoted' {\"a\\b\"}");
  EXPECT_EQ(find_study(s.storage(), "study").user_attributes["x'); DROP TABLE studies; --"], "$1 'quoted' {\"a\\b\"}");
}

TEST_F(Postgres, AFullDiskIsSaidAndKeepsWhatWasThere) {
  Study s = study();
  told(s, 1);
  // What the server says when a file can't grow.
  sql("CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS \\$\\$ BEGIN RAISE EXCEPTION 'could not extend "
      "file' "
      "USING ERRCODE='disk_full'; END \\$\\$; CREATE TRIGGER full_disk BEFORE INSERT ON trial_values EXECUTE FUNCTION "
      "full_disk()");
  LiveTrial t = s.ask();
  EXPECT_THAT(error_of([&] { s.tell(t, {2.0}); }), HasSubstr("disk is full"));
  EXPECT_EQ(sql("SELECT state FROM trials ORDER BY number"), "COMPLETE\nRUNNING");  // all of it or nothing
  sql("DROP TRIGGER full_disk ON trial_values");
  EXPECT_EQ(s.tell(t, {2.0}), TrialState::complete);
  EXPECT_EQ(s.best().at(0)->values[0], 1);
}

TEST_F(Postgres, WhereARoleMayOnlyReadItReads) {
  {
    Study s = study();
    told(s, 1);
  }
  const std::string schema = sql("SELECT current_schema()");
  sql("CREATE ROLE reader LOGIN PASSWORD 'r'; GRANT USAGE ON SCHEMA " + schema +
      " TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA " + schema + " TO reader");
  std::string reader = place_;
  reader.replace(reader.find("user=hone"), 9, "user=reader&password=r");
  EXPECT_EQ(open_storage(reader, {.read_only = true})->trials(1)->size(), 1U);
  EXPECT_THAT(error_of([&] { Study(open_storage(reader), {}, make_sampler("random", 0)).ask(); }), HasSubstr("GRANT"));
  EXPECT_THAT(error_of([&] { Study(open_storage(place_, {.read_only = true}), {}, make_sampler("random", 0)).ask(); }),
              HasSubstr("may only be read"));
  sql("DROP OWNED BY reader; DROP ROLE reader");
}

TEST_F(Postgres, ALockThatIsHeldIsSaid) {
  Study s = study({.wait_seconds = 0.2});
  told(s, 1);
  std::jthread other([&] { sql("BEGIN; SELECT 1 FROM studies FOR UPDATE; SELECT pg_sleep(2)"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_THAT(error_of([&] { s.ask(); }), HasSubstr("another session has held a lock for more than 0.2 s"));
  EXPECT_EQ(s.trials()->size(), 1U);  // readers go on
  other.join();
  EXPECT_EQ(told(s, 2), 1);
}

TEST_F(Postgres, ARestartedServerIsWaitedFor) {
  Study s = study();
  told(s, 3);
  LiveTrial t = s.ask();
  t.suggest_real("x", 0, 1);
  server_->stop("fast");
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    server_->start();
  });
  EXPECT_EQ(s.tell(t, {2.0}), TrialState::complete);
  later.join();
  EXPECT_EQ(told(s, 4), 2);
  Study again = study();
  EXPECT_EQ(again.trials()->size(), 3U);
  EXPECT_EQ(again.best().at(0)->number, 1);
}

TEST_F(Postgres, AServerThatStaysAwayIsSaid) {
  Study s = study({.wait_seconds = 0.3});
  told(s, 3);
  LiveTrial t = s.ask();
  server_->stop("fast");
  EXPECT_THAT(error_of([&] { s.tell(t, {1.0}); }), HasSubstr("go on when the server runs"));
  EXPECT_THAT(error_of([&] { open_storage(place_); }), HasSubstr("Does the server run there"));
  server_->start();
  EXPECT_EQ(s.tell(t, {1.0}), TrialState::complete);
}

// What was told stays; a trial that had just begun may be forgotten, and is not mixed up with the one that then gets
// its number.
TEST_F(Postgres, ACrashOfTheServerLosesNothingThatWasTold) {
  Study s = study();
  for (int i = 0; i < 5; ++i) told(s, i);
  LiveTrial before = s.ask();
  server_->crash();
  server_->start();
  Study other = study();
  LiveTrial after = other.ask();
  const std::string telling = error_of([&] { s.tell(before, {-1.0}); });
  if (after.number() == before.number()) EXPECT_THAT(telling, HasSubstr("there is no trial 5 any more"));
  else EXPECT_EQ(telling, "");
  EXPECT_EQ(other.tell(after, {7.0}), TrialState::complete);
  const auto trials = study().trials();
  for (int i = 0; i < 5; ++i) EXPECT_EQ((*trials)[static_cast<size_t>(i)]->values.at(0), i);
  EXPECT_EQ(trials->back()->values.at(0), 7);
}

// The same, forgotten for certain.
TEST_F(Postgres, ATrialIsNotToldInPlaceOfAnotherWithItsNumber) {
  Study s = study();
  LiveTrial t = s.ask();
  sql("UPDATE trials SET datetime_start = datetime_start + interval '1 s'");
  EXPECT_THAT(error_of([&] { s.tell(t, {-1.0}); }), HasSubstr("there is no trial 0 any more"));
  EXPECT_EQ(sql("SELECT state FROM trials"), "RUNNING");
}

TEST_F(Postgres, WorkersMayBeginAtOnce) {
  std::vector<pid_t> workers;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0)
      _exit(error_of([&] {
              Study s = study();
              for (int k = 0; k < 25; ++k) told(s, k);
            }).empty()
                ? 0
                : 1);
    workers.push_back(child);
  }
  for (pid_t worker : workers) {
    int status = 0;
    ::waitpid(worker, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  ASSERT_EQ(open_storage(place_)->studies().size(), 1U);
  EXPECT_EQ(sql("SELECT count(*), min(number), max(number), count(DISTINCT number) FROM trials WHERE state='COMPLETE'"),
            "100|0|99|100");
}

}  // namespace
}  // namespace hone
