#include "study/storages/sqlite_schema.h"

#include "base/error.h"

namespace hone {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE studies (study_id INTEGER NOT NULL, study_name VARCHAR(512) NOT NULL, PRIMARY KEY (study_id));
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
CREATE TABLE version_info (version_info_id INTEGER NOT NULL, schema_version INTEGER, library_version VARCHAR(256),
  PRIMARY KEY (version_info_id), CHECK (version_info_id=1));
CREATE TABLE study_directions (study_direction_id INTEGER NOT NULL, direction VARCHAR(8) NOT NULL, study_id INTEGER NOT NULL,
  objective INTEGER NOT NULL, PRIMARY KEY (study_direction_id), UNIQUE (study_id, objective),
  FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE study_user_attributes (study_user_attribute_id INTEGER NOT NULL, study_id INTEGER, "key" VARCHAR(512),
  value_json TEXT, PRIMARY KEY (study_user_attribute_id), UNIQUE (study_id, "key"),
  FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE study_system_attributes (study_system_attribute_id INTEGER NOT NULL, study_id INTEGER, "key" VARCHAR(512),
  value_json TEXT, PRIMARY KEY (study_system_attribute_id), UNIQUE (study_id, "key"),
  FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE TABLE trials (trial_id INTEGER NOT NULL, number INTEGER, study_id INTEGER, state VARCHAR(8) NOT NULL,
  datetime_start DATETIME, datetime_complete DATETIME, PRIMARY KEY (trial_id),
  FOREIGN KEY(study_id) REFERENCES studies (study_id));
CREATE INDEX ix_trials_study_id ON trials (study_id);
CREATE TABLE trial_user_attributes (trial_user_attribute_id INTEGER NOT NULL, trial_id INTEGER, "key" VARCHAR(512),
  value_json TEXT, PRIMARY KEY (trial_user_attribute_id), UNIQUE (trial_id, "key"),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_system_attributes (trial_system_attribute_id INTEGER NOT NULL, trial_id INTEGER, "key" VARCHAR(512),
  value_json TEXT, PRIMARY KEY (trial_system_attribute_id), UNIQUE (trial_id, "key"),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_params (param_id INTEGER NOT NULL, trial_id INTEGER, param_name VARCHAR(512), param_value FLOAT,
  distribution_json TEXT, PRIMARY KEY (param_id), UNIQUE (trial_id, param_name),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_values (trial_value_id INTEGER NOT NULL, trial_id INTEGER NOT NULL, objective INTEGER NOT NULL,
  value FLOAT, value_type VARCHAR(7) NOT NULL, PRIMARY KEY (trial_value_id), UNIQUE (trial_id, objective),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_intermediate_values (trial_intermediate_value_id INTEGER NOT NULL, trial_id INTEGER NOT NULL,
  step INTEGER NOT NULL, intermediate_value FLOAT, intermediate_value_type VARCHAR(7) NOT NULL,
  PRIMARY KEY (trial_intermediate_value_id), UNIQUE (trial_id, step),
  FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE trial_heartbeats (trial_heartbeat_id INTEGER NOT NULL, trial_id INTEGER NOT NULL, heartbeat DATETIME NOT NULL,
  PRIMARY KEY (trial_heartbeat_id), UNIQUE (trial_id), FOREIGN KEY(trial_id) REFERENCES trials (trial_id));
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL,
  CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
)";

bool has_table(SqliteDatabase& database, std::string_view name) {
  return database.query("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?").bind(name).step();
}

bool is_empty(SqliteDatabase& database) { return !database.query("SELECT 1 FROM sqlite_master LIMIT 1").step(); }

void make_tables(SqliteDatabase& database) {
  database.execute(kTables);
  database.query("INSERT INTO version_info VALUES (1, ?, ?)")
      .bind(int64_t{kOptunaSchema})
      .bind(std::string_view(kOptunaLibrary))
      .run();
  database.query("INSERT INTO alembic_version VALUES (?)").bind(std::string_view(kOptunaRevision)).run();
}

// The only row of a table of one column; empty where there is none.
std::string only_text(SqliteQuery&& query) { return query.step() ? query.text(0) : ""; }

}  // namespace

SchemaFacts prepare_schema(SqliteDatabase& database, bool read_only) {
  if (is_empty(database)) {
    if (read_only) fail("{}: holds no studies yet", database.path());
    database.write([&] {
      if (is_empty(database)) make_tables(database);  // another worker may have been faster
    });
  }
  const std::string& path = database.path();
  if (!has_table(database, "version_info") || !has_table(database, "trials"))
    fail("{}: is a database of something else, without Optuna's tables; give a file of its own to a study", path);
  const std::string version = only_text(database.query("SELECT schema_version FROM version_info"));
  const std::string revision = has_table(database, "alembic_version")
                                   ? only_text(database.query("SELECT version_num FROM alembic_version"))
                                   : "";
  const std::string library = only_text(database.query("SELECT library_version FROM version_info"));
  const SchemaFacts facts = check_versions(path, "sqlite:///" + path, version, revision, library);
  if (!read_only) {
    if (revision.empty())
      database.write([&] {
        database.execute(
            "CREATE TABLE IF NOT EXISTS alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))");
        database.query("INSERT OR IGNORE INTO alembic_version VALUES (?)")
            .bind(std::string_view(kOptunaRevision))
            .run();
      });
    // The next number of a study in one step instead of by counting; Optuna does not mind it (rustuna makes it, too).
    if (!database.query("SELECT 1 FROM sqlite_master WHERE name='trials_study_id_number_key'").step())
      database.execute("CREATE INDEX IF NOT EXISTS trials_study_id_number_key ON trials (study_id, number)");
  }
  return facts;
}

}  // namespace hone
