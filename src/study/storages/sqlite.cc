#include "study/storages/sqlite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "study/python_json.h"
#include "study/storages/sqlite_schema.h"
#include "study/storages/trial_cache.h"
#include "study/timestamp.h"

namespace hone {
namespace {

class SqliteStorage : public Storage {
 public:
  SqliteStorage(const std::string& path, const StorageOptions& options)
      : database_(path, options), facts_(prepare_schema(database_, options.read_only)) {}

  std::string name() const override { return database_.path(); }

  std::vector<StudyRecord> studies() override {
    const std::lock_guard lock(mutex_);
    return database_.read([&] {
      std::vector<StudyRecord> all;
      {
        SqliteQuery q = database_.query("SELECT study_id, study_name FROM studies ORDER BY study_id");
        while (q.step()) all.push_back({q.integer(0), q.text(1)});
      }
      for (StudyRecord& study : all) read_details(study);
      return all;
    });
  }

  int64_t create_study(const std::string& name, std::span<const Direction> directions) override {
    if (name.size() > 512) fail("a study's name has at most 512 bytes, found {}", name.size());
    const std::lock_guard lock(mutex_);
    return database_.write([&] {
      if (database_.query("SELECT 1 FROM studies WHERE study_name=?").bind(name).step())
        fail("{}: there is a study \"{}\" already", database_.path(), name);
      database_.query("INSERT INTO studies (study_name) VALUES (?)").bind(name).run();
      const int64_t study = database_.last_id();
      for (size_t i = 0; i < directions.size(); ++i)
        database_.query("INSERT INTO study_directions (direction, study_id, objective) VALUES (?, ?, ?)")
            .bind(std::string_view(to_string(directions[i])))
            .bind(study)
            .bind(static_cast<int64_t>(i))
            .run();
      return study;
    });
  }

  void delete_study(int64_t study) override {
    const std::lock_guard lock(mutex_);
    database_.write([&] {  // the tables do not cascade
      for (const char* table : {"trial_heartbeats", "trial_intermediate_values", "trial_values", "trial_params",
                                "trial_system_attributes", "trial_user_attributes"})
        database_.execute(fmt::format(
            "DELETE FROM {} WHERE trial_id IN (SELECT trial_id FROM trials WHERE study_id={})", table, study));
      for (const char* table :
           {"trials", "study_system_attributes", "study_user_attributes", "study_directions", "studies"})
        database_.execute(fmt::format("DELETE FROM {} WHERE study_id={}", table, study));
    });
    kept_.erase(study);
  }

  void set_study_attribute(int64_t study, StudyAttribute kind, const std::string& key, const Json& value) override {
    const std::lock_guard lock(mutex_);
    const char* sql = kind == StudyAttribute::user
                          ? "INSERT INTO study_user_attributes (study_id, \"key\", value_json) VALUES (?, ?, ?) "
                            "ON CONFLICT (study_id, \"key\") DO UPDATE SET value_json=excluded.value_json"
                          : "INSERT INTO study_system_attributes (study_id, \"key\", value_json) VALUES (?, ?, ?) "
                            "ON CONFLICT (study_id, \"key\") DO UPDATE SET value_json=excluded.value_json";
    database_.write([&] { database_.query(sql).bind(study).bind(key).bind(python_json(value)).run(); });
  }

  TrialKey create_trial(int64_t study, const TrialRecord& content) override {
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[study];
    TrialRecord trial = content;
    database_.write(
        [&] {
          {
            SqliteQuery q = database_.query("SELECT max(number) FROM trials WHERE study_id=?");
            q.bind(study).step();
            trial.number = q.is_null(0) ? 0 : q.integer(0) + 1;
          }
          database_
              .query(
                  "INSERT INTO trials (number, study_id, state, datetime_start, datetime_complete) VALUES (?, ?, ?, ?, "
                  "?)")
              .bind(trial.number)
              .bind(study)
              .bind(std::string_view(to_string(trial.state)))
              .bind(facts_.time_text(trial.started))
              .bind(facts_.time_text(trial.ended))
              .run();
          trial.id = database_.last_id();
          TrialChanges rest{.parameters = trial.parameters, .intermediate = trial.intermediate, .values = trial.values};
          for (const auto& [key, value] : trial.user_attributes.items()) rest.user_attributes.emplace_back(key, value);
          for (const auto& [key, value] : trial.system_attributes.items())
            rest.system_attributes.emplace_back(key, value);
          write_children(trial.id, rest);
        },
        trial.state == TrialState::running ? Flush::later : Flush::now);
    const TrialKey key{study, trial.id, trial.number};
    kept.trials.put(std::move(trial));
    return key;
  }

  std::optional<TrialRecord> pop_waiting(int64_t study) override {
    const std::lock_guard lock(mutex_);
    Kept& kept = synced(study);
    while (const TrialRecord* waiting = kept.trials.first_waiting()) {
      const int64_t number = waiting->number, id = waiting->id, now = now_us();
      const bool ours = database_.write(
          [&] {
            database_.query("UPDATE trials SET state='RUNNING', datetime_start=? WHERE trial_id=? AND state='WAITING'")
                .bind(facts_.time_text(now))
                .bind(id)
                .run();
            return database_.changes() == 1;
          },
          Flush::later);
      kept.trials.change(number, id, {.state = TrialState::running, .started = now});
      if (ours) return *kept.trials.find(number, id);
    }
    return std::nullopt;
  }

  void change(const TrialKey& key, const TrialChanges& changes) override {
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[key.study];
    database_.write(
        [&] {
          {
            SqliteQuery q = database_.query("SELECT state FROM trials WHERE trial_id=?");
            if (!q.bind(key.id).step())
              fail("{}: there is no trial {}; was its study deleted?", database_.path(), key.number);
            const std::string state = q.text(0);
            if (state != "RUNNING" && state != "WAITING")
              throw TrialEnded(
                  fmt::format("{}: trial {} has finished ({}) and can't change", database_.path(), key.number, state));
          }
          write_children(key.id, changes);
          if (changes.state)
            database_
                .query(
                    "UPDATE trials SET state=?, datetime_start=coalesce(?, datetime_start), "
                    "datetime_complete=coalesce(?, datetime_complete) WHERE trial_id=?")
                .bind(std::string_view(to_string(*changes.state)))
                .bind(facts_.time_text(changes.started))
                .bind(facts_.time_text(changes.ended))
                .bind(key.id)
                .run();
        },
        changes.state && is_finished(*changes.state) ? Flush::now : Flush::later);
    if (kept.trials.find(key.number, key.id)) kept.trials.change(key.number, key.id, changes);
  }

  std::shared_ptr<const TrialList> trials(int64_t study) override {
    const std::lock_guard lock(mutex_);
    return synced(study).trials.list();
  }

  bool has_heartbeats() const override { return true; }

  // With milliseconds, so that signs within one second differ; Optuna reads that, too.
  void beat(std::span<const TrialKey> trials) override {
    const std::lock_guard lock(mutex_);
    database_.write(
        [&] {
          for (const TrialKey& key : trials)
            database_
                .query(
                    "INSERT INTO trial_heartbeats (trial_id, heartbeat) "
                    "VALUES (?, strftime('%Y-%m-%d %H:%M:%f000', 'now')) "
                    "ON CONFLICT (trial_id) DO UPDATE SET heartbeat=excluded.heartbeat")
                .bind(key.id)
                .run();
        },
        Flush::later);
  }

  std::vector<SignOfLife> signs_of_life(int64_t study) override {
    const std::lock_guard lock(mutex_);
    std::vector<SignOfLife> signs;
    SqliteQuery q = database_.query(
        "SELECT t.trial_id, t.number, h.heartbeat FROM trials t JOIN trial_heartbeats h ON h.trial_id=t.trial_id "
        "WHERE t.study_id=? AND t.state='RUNNING'");
    for (q.bind(study); q.step();) signs.push_back({{study, q.integer(0), q.integer(1)}, q.text(2)});
    return signs;
  }

 private:
  // What this process knows of a study's trials. What others wrote is read when the file says that they did.
  struct Kept {
    TrialCache trials;
    int64_t version = -1;  // PRAGMA data_version: changes with every commit of another connection
    int64_t read_up_to = 0;
  };

  std::optional<int64_t> time_of(const SqliteQuery& q, int column) const {
    return q.is_null(column) ? std::nullopt : facts_.parse_time_text(q.view(column));
  }

  void read_attributes(const char* sql, int64_t id, Json& into) {
    SqliteQuery q = database_.query(sql);
    for (q.bind(id); q.step();) set_member(into, q.text(0), parse_python_json(q.text(1), database_.path()));
  }

  void read_details(StudyRecord& study) {
    SqliteQuery q = database_.query("SELECT direction FROM study_directions WHERE study_id=? ORDER BY objective");
    for (q.bind(study.id); q.step();)
      study.directions.push_back(parse_direction(q.text(0)).value_or(Direction::not_set));
    read_attributes("SELECT \"key\", value_json FROM study_user_attributes WHERE study_id=? ORDER BY 1", study.id,
                    study.user_attributes);
    read_attributes("SELECT \"key\", value_json FROM study_system_attributes WHERE study_id=? ORDER BY 1", study.id,
                    study.system_attributes);
  }

  void write_children(int64_t trial, const TrialChanges& changes) {
    for (const TrialParameter& p : changes.parameters)
      database_
          .query(
              "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?) "
              "ON CONFLICT (trial_id, param_name) DO UPDATE SET param_value=excluded.param_value, "
              "distribution_json=excluded.distribution_json")
          .bind(trial)
          .bind(p.name)
          .bind(p.value)
          .bind(json_of(p.distribution))
          .run();
    const auto attributes = [&](const char* sql, const std::vector<std::pair<std::string, Json>>& all) {
      for (const auto& [key, value] : all) database_.query(sql).bind(trial).bind(key).bind(python_json(value)).run();
    };
    attributes(
        "INSERT INTO trial_user_attributes (trial_id, \"key\", value_json) VALUES (?, ?, ?) "
        "ON CONFLICT (trial_id, \"key\") DO UPDATE SET value_json=excluded.value_json",
        changes.user_attributes);
    attributes(
        "INSERT INTO trial_system_attributes (trial_id, \"key\", value_json) VALUES (?, ?, ?) "
        "ON CONFLICT (trial_id, \"key\") DO UPDATE SET value_json=excluded.value_json",
        changes.system_attributes);
    for (const auto& [step, value] : changes.intermediate)
      database_
          .query(
              "INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value, intermediate_value_type) "
              "VALUES (?, ?, ?, ?) ON CONFLICT (trial_id, step) DO UPDATE SET "
              "intermediate_value=excluded.intermediate_value, "
              "intermediate_value_type=excluded.intermediate_value_type")
          .bind(trial)
          .bind(step)
          .bind(std::isfinite(value) ? std::optional(value) : std::nullopt)
          .bind(number_kind(value))
          .run();
    for (size_t i = 0; i < changes.values.size(); ++i)
      database_
          .query(
              "INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (?, ?, ?, ?) "
              "ON CONFLICT (trial_id, objective) DO UPDATE SET value=excluded.value, value_type=excluded.value_type")
          .bind(trial)
          .bind(static_cast<int64_t>(i))
          .bind(std::isfinite(changes.values[i]) ? std::optional(changes.values[i]) : std::nullopt)
          .bind(number_kind(changes.values[i]))
          .run();
  }

  // Written once for each parameter of each trial: remembered by the object, which the map keeps alive.
  const std::string& json_of(const DistributionPtr& distribution) {
    std::string& text = texts_[distribution];
    if (text.empty()) text = distribution->json();
    return text;
  }

  Kept& synced(int64_t study) {
    Kept& kept = kept_[study];
    const auto version = [](SqliteQuery&& q) { return q.step() ? q.integer(0) : 0; };
    if (const int64_t now = version(database_.query("PRAGMA data_version")); now != kept.version) {
      database_.read([&] { read_trials(study, kept); });
      kept.version = now;
    }
    return kept;
  }

  void read_trials(int64_t study, Kept& kept) {
    for (const TrialKey& key : kept.trials.unfinished(study))
      if (key.id <= kept.read_up_to) read_range(study, key.id, key.id, kept);
    read_range(study, kept.read_up_to + 1, std::numeric_limits<int64_t>::max(), kept);
  }

  // Each table once for a range of trials: by its index where it has more than those, else in its own order.
  void read_range(int64_t study, int64_t first, int64_t last, Kept& kept) {
    std::vector<TrialRecord> found;
    {
      SqliteQuery q = database_.query(
          "SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials "
          "WHERE study_id=? AND trial_id BETWEEN ? AND ? ORDER BY trial_id");
      for (q.bind(study).bind(first).bind(last); q.step();) {
        const std::optional<TrialState> state = parse_trial_state(q.view(2));
        if (!state) fail("{}: trial {} has the unknown state {}", database_.path(), q.integer(1), q.view(2));
        found.push_back({.id = q.integer(0),
                         .number = q.integer(1),
                         .state = *state,
                         .started = time_of(q, 3),
                         .ended = time_of(q, 4)});
      }
    }
    if (found.empty()) return;
    first = found.front().id;
    last = found.back().id;
    const bool most = found.size() > 1000 && static_cast<int64_t>(found.size()) > last / 4;
    const auto each = [&](const char* of_all, const char* of_some, auto&& use) {
      SqliteQuery q = database_.query(most ? of_all : of_some);
      size_t at = 0;  // rows come in the trials' order, or nearly
      for (q.bind(first).bind(last); q.step();) {
        const int64_t id = q.integer(0);
        if (found[at].id != id && (at + 1 == found.size() || found[++at].id != id)) {
          const auto place = std::ranges::lower_bound(found, id, {}, &TrialRecord::id);
          at = std::min(static_cast<size_t>(place - found.begin()), found.size() - 1);
          if (found[at].id != id) continue;  // another study's
        }
        use(found[at], q);
      }
    };
    const std::string& path = database_.path();
#define HONE_ROWS(columns, table, order)                                                         \
  "SELECT trial_id, " columns " FROM " table " WHERE +trial_id BETWEEN ? AND ? ORDER BY " order, \
      "SELECT trial_id, " columns " FROM " table " WHERE trial_id BETWEEN ? AND ? ORDER BY " order
    each(
        HONE_ROWS("param_name, param_value, distribution_json", "trial_params", "param_id"),
        [&](TrialRecord& t, const SqliteQuery& q) {
          t.parameters.push_back(stored_parameter(q.text(1), q.real(2), pool_.parse(q.view(3), q.view(1), path), path));
        });
    each(HONE_ROWS("value, value_type, objective", "trial_values", "trial_value_id"),
         [&](TrialRecord& t, const SqliteQuery& q) {
           const int64_t objective = q.integer(3);
           if (objective < 0 || objective > 4096) fail("{}: trial {} has a value {}", path, t.number, objective);
           if (t.values.size() <= static_cast<size_t>(objective))
             t.values.resize(static_cast<size_t>(objective) + 1, std::numeric_limits<double>::quiet_NaN());
           t.values[static_cast<size_t>(objective)] = number_of_kind(q.real(1), q.view(2));
         });
    each(HONE_ROWS("step, intermediate_value, intermediate_value_type", "trial_intermediate_values",
                   "trial_intermediate_value_id"),
         [&](TrialRecord& t, const SqliteQuery& q) {
           apply_changes(t, {.intermediate = {{q.integer(1), number_of_kind(q.real(2), q.view(3))}}});
         });
    each(HONE_ROWS("\"key\", value_json", "trial_user_attributes", "trial_user_attribute_id"),
         [&](TrialRecord& t, const SqliteQuery& q) {
           set_member(t.user_attributes, q.text(1), parse_python_json(q.view(2), path));
         });
    each(HONE_ROWS("\"key\", value_json", "trial_system_attributes", "trial_system_attribute_id"),
         [&](TrialRecord& t, const SqliteQuery& q) {
           set_member(t.system_attributes, q.text(1), parse_python_json(q.view(2), path));
         });
#undef HONE_ROWS
    kept.read_up_to = std::max(kept.read_up_to, last);
    for (TrialRecord& trial : found) {
      const TrialRecord* before = kept.trials.find(trial.number, trial.id);
      if (!before || !is_finished(before->state)) kept.trials.put(std::move(trial));
    }
  }

  std::mutex mutex_;
  SqliteDatabase database_;
  SchemaFacts facts_;
  std::map<int64_t, Kept> kept_;
  DistributionPool pool_;
  std::unordered_map<DistributionPtr, std::string> texts_;
};

}  // namespace

std::shared_ptr<Storage> sqlite_storage(const std::string& path, const StorageOptions& options) {
  return std::make_shared<SqliteStorage>(path, options);
}

}  // namespace hone
