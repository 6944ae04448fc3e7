#pragma once

#include "study/storages/optuna_tables.h"
#include "study/storages/postgres_database.h"

namespace hone {

// Makes Optuna's tables in a database that has none, unless it may only be read or nothing may be made. Throws Error
// for tables of another version, with what to do.
SchemaFacts prepare_schema(PostgresDatabase& database, const StorageOptions& options);

}  // namespace hone
