// What a trial costs is round trips and waiting for the server's disk. A trial is begun, its parameters are written and
// it is told in one statement and one round trip each, and only what has come of it waits for the disk: commits before
// that are on the disk no later, because the server's log is written in order.
#include "study/storages/postgres.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "study/python_json.h"
#include "study/storages/postgres_schema.h"
#include "study/storages/trial_cache.h"
#include "study/timestamp.h"

namespace hone {
namespace {

using Attributes = std::vector<std::pair<std::string, Json>>;

// A statement beside its values: each gets the next number.
class Writer {
 public:
  template <class T>
  std::string add(const T& value) {
    values_.add(value);
    return number();
  }
  std::string add_or_null(const std::optional<std::string>& text) {
    values_.add_or_null(text);
    return number();
  }
  template <class T>
  std::string add_array(const T& list) {
    values_.add_array(list);
    return number();
  }
  void part(const std::string& sql) { parts_ += (parts_.empty() ? "WITH " : ", ") + sql; }
  PgStatement finish(const std::string& select) && { return {parts_ + " " + select, std::move(values_)}; }

 private:
  std::string number() const { return fmt::format("${}", values_.count()); }
  std::string parts_;
  PgValues values_;
};

// The last of each key: one statement changes a row once.
template <class T, class Key>
std::vector<T> last_of_each(const std::vector<T>& all, Key key) {
  std::vector<T> kept;
  for (const T& entry : all) {
    std::erase_if(kept, [&](const T& k) { return key(k) == key(entry); });
    kept.push_back(entry);
  }
  return kept;
}
constexpr auto kFirst = [](const auto& entry) { return entry.first; };

class PostgresStorage : public Storage {
 public:
  PostgresStorage(const std::string& place, const StorageOptions& options)
      : database_(place, options), facts_(prepare_schema(database_, options)) {}

  std::string name() const override { return database_.name(); }

  std::vector<StudyRecord> studies() override {
    const std::lock_guard lock(mutex_);
    const PgStatement statements[] = {
        {"SELECT study_id, study_name FROM studies ORDER BY study_id"},
        {"SELECT study_id, direction FROM study_directions ORDER BY study_id, objective"},
        {"SELECT study_id, key, value_json FROM study_user_attributes ORDER BY study_id, key"},
        {"SELECT study_id, key, value_json FROM study_system_attributes ORDER BY study_id, key"}};
    const std::vector<PgRows> r = database_.run(statements);
    std::vector<StudyRecord> all;
    for (int i = 0; i < r[0].size(); ++i) all.push_back({r[0].integer(i, 0), std::string(r[0].text(i, 1))});
    const auto each = [&](const PgRows& rows, auto&& use) {
      for (int i = 0; i < rows.size(); ++i) {
        const auto at = std::ranges::lower_bound(all, rows.integer(i, 0), {}, &StudyRecord::id);
        if (at != all.end() && at->id == rows.integer(i, 0)) use(*at, i);
      }
    };
    each(r[1], [&](StudyRecord& s, int i) {
      s.directions.push_back(parse_direction(r[1].text(i, 1)).value_or(Direction::not_set));
    });
    each(r[2], [&](StudyRecord& s, int i) { set_json(s.user_attributes, r[2].text(i, 1), r[2].text(i, 2)); });
    each(r[3], [&](StudyRecord& s, int i) { set_json(s.system_attributes, r[3].text(i, 1), r[3].text(i, 2)); });
    return all;
  }

  int64_t create_study(const std::string& name, std::span<const Direction> directions) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> words;
    for (Direction d : directions) words.emplace_back(to_string(d));
    Writer w;
    w.part(fmt::format("t AS (INSERT INTO studies (study_name) VALUES ({}) RETURNING study_id)", w.add(name)));
    w.part(
        fmt::format("d AS (INSERT INTO study_directions (direction, study_id, objective) SELECT x.d, t.study_id, x.n-1 "
                    "FROM t, unnest({}::studydirection[]) WITH ORDINALITY AS x(d, n))",
                    w.add_array(words)));
    try {
      return database_.run(std::move(w).finish("SELECT study_id, " + to_disk() + " FROM t")).integer(0, 0);
    } catch (const Error&) {
      if (database_.state() != "23505") throw;
      fail("{}: there is a study \"{}\" already", database_.name(), name);
    }
  }

  void delete_study(int64_t study) override {
    const std::lock_guard lock(mutex_);
    std::vector<PgStatement> statements{{"SELECT study_id FROM studies WHERE study_id=$1 FOR UPDATE"}};
    for (const char* table : {"trial_heartbeats", "trial_intermediate_values", "trial_values", "trial_params",
                              "trial_system_attributes", "trial_user_attributes"})  // the tables do not cascade
      statements.push_back(
          {fmt::format("DELETE FROM {} WHERE trial_id IN (SELECT trial_id FROM trials WHERE study_id=$1)", table)});
    for (const char* table :
         {"trials", "study_system_attributes", "study_user_attributes", "study_directions", "studies"})
      statements.push_back({fmt::format("DELETE FROM {} WHERE study_id=$1", table)});
    for (PgStatement& s : statements) s.values.add(study);
    statements.push_back({"SELECT " + to_disk()});
    database_.run(statements);
    kept_.erase(study);
  }

  void set_study_attribute(int64_t study, StudyAttribute kind, const std::string& key, const Json& value) override {
    const std::lock_guard lock(mutex_);
    const std::string table = kind == StudyAttribute::user ? "study_user_attributes" : "study_system_attributes";
    PgStatement statement{"INSERT INTO " + table + " (study_id, key, value_json) VALUES ($1, $2, $3) " +
                          "ON CONFLICT (study_id, key) DO UPDATE SET value_json=excluded.value_json RETURNING " +
                          to_disk()};
    statement.values.add(study).add(key).add(python_json(value));
    database_.run(statement);
  }

  TrialKey create_trial(int64_t study, const TrialRecord& content) override {
    const std::lock_guard lock(mutex_);
    TrialChanges rest{.parameters = content.parameters, .intermediate = content.intermediate, .values = content.values};
    for (const auto& [key, value] : content.user_attributes.items()) rest.user_attributes.emplace_back(key, value);
    for (const auto& [key, value] : content.system_attributes.items()) rest.system_attributes.emplace_back(key, value);
    Writer w;
    const std::string id = w.add(study), state = w.add(std::string_view(to_string(content.state)));
    const std::string started = w.add_or_null(facts_.time_text(content.started)),
                      ended = w.add_or_null(facts_.time_text(content.ended));
    w.part(
        fmt::format("t AS (INSERT INTO trials (number, study_id, state, datetime_start, datetime_complete) "
                    "SELECT {}, {}::int, {}::trialstate, {}::timestamp, {}::timestamp WHERE EXISTS (SELECT 1 FROM "
                    "studies WHERE study_id={}) RETURNING trial_id, number)",
                    next_number(id), id, state, started, ended, id));
    write_children(w, rest);
    const PgStatement statements[] = {lock_of(study),
                                      std::move(w).finish("SELECT trial_id, number, " + to_disk() + " FROM t")};
    TrialRecord trial = content;
    return keep(study, std::move(trial), database_.run(statements)[1]);
  }

  // A waiting trial where there is one, otherwise a new one: one round trip, and nothing that waits for the disk.
  TrialRecord begin_trial(int64_t study, int64_t started) override {
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[study];
    // Waiting trials are looked for behind where the last one was found, or none was; all over again now and then, for
    // what another program may have put back.
    const auto now = std::chrono::steady_clock::now();
    if (now - kept.looked_at_all > std::chrono::seconds(10)) kept.waiting_from = 0, kept.looked_at_all = now;
    Writer w;
    const std::string id = w.add(study), at = w.add_or_null(facts_.time_text(started)), from = w.add(kept.waiting_from);
    w.part(fmt::format(
        "popped AS (UPDATE trials SET state='RUNNING', datetime_start={}::timestamp WHERE trial_id=(SELECT trial_id "
        "FROM "
        "trials WHERE study_id={}::int AND number>={}::int AND state='WAITING' ORDER BY number LIMIT 1 FOR UPDATE SKIP "
        "LOCKED) RETURNING trial_id, number)",
        at, id, from));
    w.part(fmt::format(
        "made AS (INSERT INTO trials (number, study_id, state, datetime_start) SELECT {}, {}::int, 'RUNNING', "
        "{}::timestamp WHERE NOT EXISTS (SELECT 1 FROM popped) AND EXISTS (SELECT 1 FROM studies WHERE study_id={}) "
        "RETURNING trial_id, number)",
        next_number(id), id, at, id));
    const PgStatement statements[] = {
        lock_of(study),
        std::move(w).finish("SELECT trial_id, number, true FROM popped UNION ALL SELECT trial_id, number, "
                            "false FROM made")};
    const PgRows rows = std::move(database_.run(statements)[1]);
    if (rows.size() == 0 || rows.text(0, 2) == "f") {
      TrialRecord trial{.started = started};
      const TrialKey key = keep(study, trial, rows);
      trial.id = key.id;
      trial.number = key.number;
      kept.waiting_from = key.number;
      return trial;
    }
    const int64_t trial = rows.integer(0, 0), number = rows.integer(0, 1);
    kept.waiting_from = number;
    read_trials(kept, {trial});
    const TrialRecord* popped = kept.trials.find(number, trial);
    if (!popped) fail("{}: trial {} is gone; was its study deleted?", database_.name(), number);
    begun_[trial] = facts_.time_text(started);
    return *popped;
  }

  std::optional<TrialRecord> pop_waiting(int64_t study) override {
    const std::lock_guard lock(mutex_);
    const int64_t now = now_us();
    Writer w;
    const std::string id = w.add(study), at = w.add_or_null(facts_.time_text(now));
    w.part(
        fmt::format("t AS (UPDATE trials SET state='RUNNING', datetime_start={}::timestamp WHERE trial_id=(SELECT "
                    "trial_id FROM trials "
                    "WHERE study_id={}::int AND state='WAITING' ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED) "
                    "RETURNING trial_id, "
                    "number)",
                    at, id));
    const PgRows rows = database_.run(std::move(w).finish("SELECT trial_id, number FROM t"));
    if (rows.size() == 0) return std::nullopt;
    Kept& kept = kept_[study];
    read_trials(kept, {rows.integer(0, 0)});
    begun_[rows.integer(0, 0)] = facts_.time_text(now);
    return *kept.trials.find(rows.integer(0, 1), rows.integer(0, 0));
  }

  void change(const TrialKey& key, const TrialChanges& changes) override {
    const std::lock_guard lock(mutex_);
    const auto begun = begun_.find(key.id);
    const bool ends = changes.state && is_finished(*changes.state);
    const int64_t connections = database_.connections();
    Writer w;
    const std::string id = w.add(key.id);
    // A trial that a server forgot when it went down, and whose number it gave again, began at another time.
    const std::string which =
        fmt::format("trial_id={}::int AND state IN ('RUNNING', 'WAITING') AND number={}::int{}", id, w.add(key.number),
                    begun != begun_.end() && begun->second
                        ? fmt::format(" AND datetime_start={}::timestamp", w.add(std::string_view(*begun->second)))
                        : "");
    if (changes.state)
      w.part(fmt::format(
          "t AS (UPDATE trials SET state={}::trialstate, datetime_start=coalesce({}::timestamp, "
          "datetime_start), datetime_complete=coalesce({}::timestamp, datetime_complete) WHERE {} "
          "RETURNING trial_id)",
          w.add(std::string_view(to_string(*changes.state))), w.add_or_null(facts_.time_text(changes.started)),
          w.add_or_null(facts_.time_text(changes.ended)), which));
    else w.part(fmt::format("t AS (SELECT trial_id FROM trials WHERE {} FOR NO KEY UPDATE)", which));
    write_children(w, changes);
    const PgRows rows =
        database_.run(std::move(w).finish("SELECT count(*)" + (ends ? ", " + to_disk() : std::string()) + " FROM t"));
    if (rows.integer(0, 0) == 0) check_gone(key, changes, database_.connections() > connections);
    if (ends) begun_.erase(key.id);
    TrialCache& trials = kept_[key.study].trials;
    if (trials.find(key.number, key.id)) trials.change(key.number, key.id, changes);
  }

  std::shared_ptr<const TrialList> trials(int64_t study) override {
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[study];
    read_new(study, kept);
    return kept.trials.list();
  }

  bool has_heartbeats() const override { return true; }

  // In the session's time zone, as Optuna's workers write them.
  void beat(std::span<const TrialKey> trials) override {
    const std::lock_guard lock(mutex_);
    std::vector<int64_t> ids;
    for (const TrialKey& key : trials) ids.push_back(key.id);
    PgStatement statement{
        "INSERT INTO trial_heartbeats (trial_id, heartbeat) SELECT t.trial_id, localtimestamp FROM trials t WHERE "
        "t.trial_id=ANY($1::int[]) ON CONFLICT (trial_id) DO UPDATE SET heartbeat=localtimestamp"};
    statement.values.add_array(ids);
    database_.run(statement);
  }

  std::vector<SignOfLife> signs_of_life(int64_t study) override {
    const std::lock_guard lock(mutex_);
    PgStatement statement{
        "SELECT t.trial_id, t.number, h.heartbeat FROM trials t JOIN trial_heartbeats h ON h.trial_id=t.trial_id WHERE "
        "t.study_id=$1 AND t.state='RUNNING' ORDER BY t.number"};
    statement.values.add(study);
    const PgRows rows = database_.run(statement);
    std::vector<SignOfLife> signs;
    for (int i = 0; i < rows.size(); ++i)
      signs.push_back({{study, rows.integer(i, 0), rows.integer(i, 1)}, std::string(rows.text(i, 2))});
    return signs;
  }

 private:
  // What this process knows of a study's trials.
  struct Kept {
    TrialCache trials;
    int64_t next_number = 0;  // all before it have been read
    int64_t waiting_from = 0;
    std::chrono::steady_clock::time_point looked_at_all{};
  };

  // The transaction waits at its end for the disk, as far as the server is set to.
  std::string to_disk() const {
    return fmt::format("set_config('synchronous_commit', '{}', true)", database_.commit_level());
  }

  // Of all that make trials of a study, Optuna's workers too, one at a time. A statement of its own: what the next one
  // sees is what was there when it began.
  static PgStatement lock_of(int64_t study) {
    PgStatement statement{"SELECT study_id FROM studies WHERE study_id=$1 FOR NO KEY UPDATE"};
    statement.values.add(study);
    return statement;
  }
  static std::string next_number(const std::string& study) {
    return fmt::format("(SELECT coalesce(max(number), -1)+1 FROM trials WHERE study_id={}::int)", study);
  }

  TrialKey keep(int64_t study, TrialRecord trial, const PgRows& rows) {
    if (rows.size() == 0) fail("{}: there is no study {}; was it deleted?", database_.name(), study);
    Kept& kept = kept_[study];
    trial.id = rows.integer(0, 0);
    trial.number = rows.integer(0, 1);
    if (kept.next_number == trial.number) ++kept.next_number;
    const TrialKey key{study, trial.id, trial.number};
    if (trial.state == TrialState::running) begun_[key.id] = facts_.time_text(trial.started);
    kept.trials.put(std::move(trial));
    return key;
  }

  // Why a trial could not be changed; returns where what was sent twice held at the first time.
  void check_gone(const TrialKey& key, const TrialChanges& changes, bool sent_again) {
    PgStatement statement{
        "SELECT state, datetime_start, datetime_complete FROM trials WHERE trial_id=$1 AND number=$2"};
    statement.values.add(key.id).add(key.number);
    const PgRows rows = database_.run(statement);
    const auto begun = begun_.find(key.id);
    const std::optional<int64_t> started =
        begun == begun_.end() || !begun->second ? std::nullopt : facts_.parse_time_text(*begun->second);
    if (rows.size() == 0 || (started && facts_.parse_time_text(rows.text(0, 1)) != started))
      fail(
          "{}: there is no trial {} any more: its study was deleted, or the server went down before it had kept that "
          "the trial began. Ask for another",
          database_.name(), key.number);
    const std::string state(rows.text(0, 0));
    const bool ours = sent_again && changes.state && state == to_string(*changes.state) && changes.ended &&
                      facts_.parse_time_text(rows.text(0, 2)) == changes.ended;
    if (!ours)
      throw TrialEnded(
          fmt::format("{}: trial {} has finished ({}) and can't change", database_.name(), key.number, state));
  }

  // Rows of the trial that the part `t` of the statement gives, if it gives one.
  void write_children(Writer& w, const TrialChanges& changes) {
    if (!changes.parameters.empty()) {
      std::vector<std::string> names, texts;
      std::vector<double> values;
      for (const TrialParameter& p : changes.parameters) {
        names.push_back(p.name);
        values.push_back(p.value);
        texts.push_back(json_of(p.distribution));
      }
      w.part(
          fmt::format("p AS (INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) SELECT "
                      "t.trial_id, x.a, x.b, x.c FROM t, unnest({}::text[], {}::float8[], {}::text[]) AS x(a, b, c) ON "
                      "CONFLICT (trial_id, param_name) DO UPDATE SET param_value=excluded.param_value, "
                      "distribution_json=excluded.distribution_json)",
                      w.add_array(names), w.add_array(values), w.add_array(texts)));
    }
    write_attributes(w, "u", "trial_user_attributes", changes.user_attributes);
    write_attributes(w, "s", "trial_system_attributes", changes.system_attributes);
    if (!changes.intermediate.empty()) {
      std::vector<int64_t> steps;
      std::vector<double> values;
      for (const auto& [step, value] : last_of_each(changes.intermediate, kFirst)) {
        if (step > std::numeric_limits<int32_t>::max())
          fail("{}: a report at step {}; steps go up to 2147483647 there", database_.name(), step);
        steps.push_back(step);
        values.push_back(value);
      }
      w.part(
          fmt::format("i AS (INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value, "
                      "intermediate_value_type) SELECT t.trial_id, x.a, x.b, x.c FROM t, unnest({}::int[], "
                      "{}::float8[], {}::trialintermediatevaluetype[]) AS x(a, b, c) ON CONFLICT (trial_id, step) DO "
                      "UPDATE SET intermediate_value=excluded.intermediate_value, "
                      "intermediate_value_type=excluded.intermediate_value_type)",
                      w.add_array(steps), w.add_array(values), w.add_array(kinds(values))));
    }
    if (!changes.values.empty())
      w.part(
          fmt::format("v AS (INSERT INTO trial_values (trial_id, objective, value, value_type) SELECT t.trial_id, "
                      "x.n-1, x.b, x.c FROM t, unnest({}::float8[], {}::trialvaluetype[]) WITH ORDINALITY AS x(b, c, "
                      "n) ON CONFLICT (trial_id, objective) DO UPDATE SET value=excluded.value, "
                      "value_type=excluded.value_type)",
                      w.add_array(changes.values), w.add_array(kinds(changes.values))));
  }

  static void write_attributes(Writer& w, const char* part, const char* table, const Attributes& attributes) {
    if (attributes.empty()) return;
    std::vector<std::string> keys, texts;
    for (const auto& [key, value] : last_of_each(attributes, kFirst)) {
      keys.push_back(key);
      texts.push_back(python_json(value));
    }
    w.part(
        fmt::format("{} AS (INSERT INTO {} (trial_id, key, value_json) SELECT t.trial_id, x.a, x.b FROM t, "
                    "unnest({}::text[], {}::text[]) AS x(a, b) ON CONFLICT (trial_id, key) DO UPDATE SET "
                    "value_json=excluded.value_json)",
                    part, table, w.add_array(keys), w.add_array(texts)));
  }

  static std::vector<std::string> kinds(std::span<const double> values) {
    std::vector<std::string> words;
    for (double value : values) words.emplace_back(number_kind(value));
    return words;
  }

  // Written once for each parameter of each trial: remembered by the object, which the map keeps alive.
  const std::string& json_of(const DistributionPtr& distribution) {
    std::string& text = texts_[distribution];
    if (text.empty()) text = distribution->json();
    return text;
  }

  void set_json(Json& into, std::string_view key, std::string_view text) const {
    set_member(into, std::string(key), parse_python_json(text, database_.name()));
  }

  void read_new(int64_t study, Kept& kept) {
    std::vector<int64_t> unfinished;
    for (const TrialKey& key : kept.trials.unfinished(study)) unfinished.push_back(key.id);
    PgStatement statement{
        "SELECT trial_id, number, state FROM trials WHERE study_id=$1 AND number>=$2 UNION SELECT trial_id, number, "
        "state "
        "FROM trials WHERE trial_id=ANY($3::int[]) AND study_id=$1 ORDER BY 1"};
    statement.values.add(study).add(kept.next_number).add_array(unfinished);
    const PgRows rows = database_.run(statement);
    std::vector<int64_t> ids;
    int64_t next = kept.next_number;
    for (int i = 0; i < rows.size(); ++i) {
      const int64_t id = rows.integer(i, 0), number = rows.integer(i, 1);
      next = std::max(next, number + 1);
      const TrialRecord* before = kept.trials.find(number, id);
      // Of its own running trials this process knows more than is written.
      const bool own =
          before && before->state == TrialState::running && begun_.contains(id) && rows.text(i, 2) == "RUNNING";
      if (!own && (!before || !is_finished(before->state))) ids.push_back(id);
    }
    constexpr size_t kAtOnce = 4096;  // trials: some megabytes of rows in the client library at a time
    for (size_t at = 0; at < ids.size(); at += kAtOnce)
      read_trials(kept, std::vector(ids.begin() + static_cast<std::ptrdiff_t>(at),
                                    ids.begin() + static_cast<std::ptrdiff_t>(std::min(at + kAtOnce, ids.size()))));
    kept.next_number = next;
  }

  // Each table once. The states first: what a trial that has finished holds is there when its state is.
  void read_trials(Kept& kept, const std::vector<int64_t>& ids) {
    PgStatement statements[] = {
        {"SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials WHERE trial_id=ANY($1::int[]) "
         "AND "
         "number IS NOT NULL ORDER BY trial_id"},
        {"SELECT trial_id, param_name, param_value, distribution_json FROM trial_params WHERE trial_id=ANY($1::int[]) "
         "ORDER BY param_id"},
        {"SELECT trial_id, value, value_type FROM trial_values WHERE trial_id=ANY($1::int[]) ORDER BY trial_id, "
         "objective"},
        {"SELECT trial_id, step, intermediate_value, intermediate_value_type FROM trial_intermediate_values WHERE "
         "trial_id=ANY($1::int[]) ORDER BY trial_id, step"},
        {"SELECT trial_id, key, value_json FROM trial_user_attributes WHERE trial_id=ANY($1::int[]) ORDER BY "
         "trial_user_attribute_id"},
        {"SELECT trial_id, key, value_json FROM trial_system_attributes WHERE trial_id=ANY($1::int[]) ORDER BY "
         "trial_system_attribute_id"}};
    for (PgStatement& s : statements) s.values.add_array(ids);
    const std::vector<PgRows> r = database_.run(statements);
    std::vector<TrialRecord> found;
    for (int i = 0; i < r[0].size(); ++i) {
      const std::optional<TrialState> state = parse_trial_state(r[0].text(i, 2));
      if (!state) fail("{}: trial {} has the unknown state {}", database_.name(), r[0].integer(i, 1), r[0].text(i, 2));
      found.push_back({.id = r[0].integer(i, 0),
                       .number = r[0].integer(i, 1),
                       .state = *state,
                       .started = facts_.parse_time_text(r[0].text(i, 3)),
                       .ended = facts_.parse_time_text(r[0].text(i, 4))});
    }
    const auto each = [&](const PgRows& rows, auto&& use) {
      for (int i = 0; i < rows.size(); ++i) {
        const int64_t id = rows.integer(i, 0);
        const auto at = std::ranges::lower_bound(found, id, {}, &TrialRecord::id);
        if (at != found.end() && at->id == id) use(*at, rows, i);
      }
    };
    const std::string& name = database_.name();
    each(r[1], [&](TrialRecord& t, const PgRows& rows, int i) {
      t.parameters.push_back(stored_parameter(std::string(rows.text(i, 1)), rows.real(i, 2),
                                              pool_.parse(rows.text(i, 3), rows.text(i, 1), name), name));
    });
    each(r[2], [&](TrialRecord& t, const PgRows& rows, int i) {
      t.values.push_back(number_of_kind(rows.real(i, 1), rows.text(i, 2)));
    });
    each(r[3], [&](TrialRecord& t, const PgRows& rows, int i) {
      t.intermediate.emplace_back(rows.integer(i, 1), number_of_kind(rows.real(i, 2), rows.text(i, 3)));
    });
    each(r[4], [&](TrialRecord& t, const PgRows& rows, int i) {
      set_json(t.user_attributes, rows.text(i, 1), rows.text(i, 2));
    });
    each(r[5], [&](TrialRecord& t, const PgRows& rows, int i) {
      set_json(t.system_attributes, rows.text(i, 1), rows.text(i, 2));
    });
    for (TrialRecord& trial : found) kept.trials.put(std::move(trial));
  }

  std::mutex mutex_;
  PostgresDatabase database_;
  SchemaFacts facts_;
  std::map<int64_t, Kept> kept_;
  std::unordered_map<int64_t, std::optional<std::string>> begun_;  // trials that run here, and when they began
  DistributionPool pool_;
  std::unordered_map<DistributionPtr, std::string> texts_;
};

}  // namespace

std::shared_ptr<Storage> postgres_storage(const std::string& place, const StorageOptions& options) {
  return std::make_shared<PostgresStorage>(place, options);
}

}  // namespace hone
