#include "study/storages/postgres_schema.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hone {
namespace {

// As SQLAlchemy makes them from Optuna's models; keys' names follow from the columns.
constexpr const char* kTables[] = {
    "CREATE TYPE studydirection AS ENUM ('NOT_SET', 'MINIMIZE', 'MAXIMIZE')",
    "CREATE TYPE trialstate AS ENUM ('RUNNING', 'COMPLETE', 'PRUNED', 'FAIL', 'WAITING')",
    "CREATE TYPE trialvaluetype AS ENUM ('FINITE', 'INF_POS', 'INF_NEG')",
    "CREATE TYPE trialintermediatevaluetype AS ENUM ('FINITE', 'INF_POS', 'INF_NEG', 'NAN')",
    "CREATE TABLE studies (study_id SERIAL NOT NULL, study_name VARCHAR(512) NOT NULL, PRIMARY KEY (study_id))",
    "CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name)",
    "CREATE TABLE version_info (version_info_id INTEGER NOT NULL, schema_version INTEGER, library_version "
    "VARCHAR(256), "
    "PRIMARY KEY (version_info_id), CHECK (version_info_id = 1))",
    "CREATE TABLE study_directions (study_direction_id SERIAL NOT NULL, direction studydirection NOT NULL, "
    "study_id INTEGER NOT NULL, objective INTEGER NOT NULL, PRIMARY KEY (study_direction_id), "
    "UNIQUE (study_id, objective), FOREIGN KEY(study_id) REFERENCES studies (study_id))",
    "CREATE TABLE study_user_attributes (study_user_attribute_id SERIAL NOT NULL, study_id INTEGER, key VARCHAR(512), "
    "value_json TEXT, PRIMARY KEY (study_user_attribute_id), UNIQUE (study_id, key), "
    "FOREIGN KEY(study_id) REFERENCES studies (study_id))",
    "CREATE TABLE study_system_attributes (study_system_attribute_id SERIAL NOT NULL, study_id INTEGER, "
    "key VARCHAR(512), value_json TEXT, PRIMARY KEY (study_system_attribute_id), UNIQUE (study_id, key), "
    "FOREIGN KEY(study_id) REFERENCES studies (study_id))",
    "CREATE TABLE trials (trial_id SERIAL NOT NULL, number INTEGER, study_id INTEGER, state trialstate NOT NULL, "
    "datetime_start TIMESTAMP WITHOUT TIME ZONE, datetime_complete TIMESTAMP WITHOUT TIME ZONE, PRIMARY KEY "
    "(trial_id), "
    "FOREIGN KEY(study_id) REFERENCES studies (study_id))",
    "CREATE INDEX ix_trials_study_id ON trials (study_id)",
    "CREATE TABLE trial_user_attributes (trial_user_attribute_id SERIAL NOT NULL, trial_id INTEGER, key VARCHAR(512), "
    "value_json TEXT, PRIMARY KEY (trial_user_attribute_id), UNIQUE (trial_id, key), "
    "FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE trial_system_attributes (trial_system_attribute_id SERIAL NOT NULL, trial_id INTEGER, "
    "key VARCHAR(512), value_json TEXT, PRIMARY KEY (trial_system_attribute_id), UNIQUE (trial_id, key), "
    "FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE trial_params (param_id SERIAL NOT NULL, trial_id INTEGER, param_name VARCHAR(512), "
    "param_value FLOAT(53), distribution_json TEXT, PRIMARY KEY (param_id), UNIQUE (trial_id, param_name), "
    "FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE trial_values (trial_value_id SERIAL NOT NULL, trial_id INTEGER NOT NULL, objective INTEGER NOT NULL, "
    "value FLOAT(53), value_type trialvaluetype NOT NULL, PRIMARY KEY (trial_value_id), UNIQUE (trial_id, objective), "
    "FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE trial_intermediate_values (trial_intermediate_value_id SERIAL NOT NULL, trial_id INTEGER NOT NULL, "
    "step INTEGER NOT NULL, intermediate_value FLOAT(53), intermediate_value_type trialintermediatevaluetype NOT NULL, "
    "PRIMARY KEY (trial_intermediate_value_id), UNIQUE (trial_id, step), "
    "FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE trial_heartbeats (trial_heartbeat_id SERIAL NOT NULL, trial_id INTEGER NOT NULL, "
    "heartbeat TIMESTAMP WITHOUT TIME ZONE NOT NULL, PRIMARY KEY (trial_heartbeat_id), UNIQUE (trial_id), "
    "FOREIGN KEY(trial_id) REFERENCES trials (trial_id))",
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))",
};

struct Present {
  bool version = false, trials = false, alembic = false, index = false;
};

Present look(PostgresDatabase& database) {
  const PgRows r =
      database.run({"SELECT to_regclass('version_info') IS NOT NULL, to_regclass('trials') IS NOT NULL, "
                    "to_regclass('alembic_version') IS NOT NULL, "
                    "to_regclass('trials_study_id_number_key') IS NOT NULL"});
  const auto is = [&](int column) { return r.text(0, column) == "t"; };
  return {is(0), is(1), is(2), is(3)};
}

// In one transaction each statement sees those before; they can't be prepared before the tables are there, so each is
// sent by a function of the server that runs text. The lock is of the whole database: of several workers that begin at
// once one makes the tables, and the others find them.
void make_tables(PostgresDatabase& database) {
  constexpr int64_t kLock = 0x686f6e65;  // "hone"
  std::string text;
  for (const char* sql : kTables) text += fmt::format("    {};\n", sql);
  const PgStatement statements[] = {
      {fmt::format("SELECT pg_advisory_xact_lock({})", kLock)},
      {fmt::format(
          "DO $hone$ BEGIN IF to_regclass('version_info') IS NULL THEN\n{}"
          "    INSERT INTO version_info VALUES (1, {}, '{}');\n    INSERT INTO alembic_version VALUES ('{}');\n"
          "END IF; END $hone$",
          text, kOptunaSchema, kOptunaLibrary, kOptunaRevision)}};
  database.run(statements);
}

}  // namespace

SchemaFacts prepare_schema(PostgresDatabase& database, const StorageOptions& options) {
  Present present = look(database);
  if (!present.version && !present.trials) {
    if (options.read_only || !options.may_create) fail("{}: holds no studies yet", database.name());
    make_tables(database);
    present = look(database);
  }
  if (!present.version || !present.trials)
    fail("{}: has a table \"{}\" of something else; give a database, or a schema (search_path), of its own to studies",
         database.name(), present.trials ? "trials" : "version_info");
  const PgRows versions = database.run({"SELECT schema_version, library_version FROM version_info"});
  const std::string schema(versions.size() ? versions.text(0, 0) : ""),
      library(versions.size() ? versions.text(0, 1) : "");
  std::string revision;
  if (present.alembic)
    if (const PgRows r = database.run({"SELECT version_num FROM alembic_version"}); r.size()) revision = r.text(0, 0);
  const SchemaFacts facts = check_versions(database.name(), database.name(), schema, revision, library);
  if (options.read_only) return facts;
  if (revision.empty()) {
    database.run(
        {"CREATE TABLE IF NOT EXISTS alembic_version (version_num VARCHAR(32) NOT NULL, "
         "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"});
    database.run({fmt::format("INSERT INTO alembic_version VALUES ('{}') ON CONFLICT DO NOTHING", kOptunaRevision)});
  }
  // The next number of a study, and what is new in it, in one step; Optuna does not mind it (rustuna makes it, too).
  // Only the tables' owner may; without it the same is found, slower.
  if (!present.index) try {
      const PgStatement statements[] = {
          {"SELECT pg_advisory_xact_lock(1752133221)"},
          {"CREATE INDEX IF NOT EXISTS trials_study_id_number_key ON trials (study_id, number)"}};
      database.run(statements);
    } catch (const Error&) {
      if (database.state() != "42501") throw;
    }
  return facts;
}

}  // namespace hone
