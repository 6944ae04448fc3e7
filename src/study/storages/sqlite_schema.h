// Optuna's tables (schema 12, revision v3.2.0.a), which versions 3.2 to 5 share.
#pragma once

#include "study/storages/optuna_tables.h"
#include "study/storages/sqlite_database.h"

namespace hone {

// Makes the tables in an empty file, unless it may only be read. Throws Error for other tables, and for other versions
// of these, with what to do.
SchemaFacts prepare_schema(SqliteDatabase& database, bool read_only);

}  // namespace hone
