#include "study/storages/sqlite_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/stop.h"

namespace hone {
namespace {

std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (char c : path)
    uri += std::string_view("%?#").find(c) == std::string_view::npos ? std::string(1, c) : fmt::format("%{:02x}", c);
  return uri + "?immutable=1";
}

}  // namespace

SqliteQuery::~SqliteQuery() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

SqliteQuery& SqliteQuery::bind(int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}
SqliteQuery& SqliteQuery::bind(double value) {
  sqlite3_bind_double(statement_, ++bound_, value);
  return *this;
}
SqliteQuery& SqliteQuery::bind(std::string_view value) {
  sqlite3_bind_text64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}
SqliteQuery& SqliteQuery::bind_null() {
  sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

bool SqliteQuery::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.failed(code);
  return false;
}

int64_t SqliteQuery::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double SqliteQuery::real(int column) const { return sqlite3_column_double(statement_, column); }
bool SqliteQuery::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::string_view SqliteQuery::view(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (!text) return "";
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

SqliteDatabase::SqliteDatabase(const std::string& path, const StorageOptions& options)
    : path_(path), wait_seconds_(options.wait_seconds), durable_(options.durable) {
  std::error_code none;
  const bool exists = std::filesystem::exists(path, none);
  if (exists && !std::filesystem::is_regular_file(path, none)) fail("{}: is no plain file; a study needs one", path);
  if (!exists && (!options.may_create || options.read_only)) fail("{}: there is no such file; no study to open", path);
  const int flags = (options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                    (options.may_create && !options.read_only ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(path.c_str(), &database_, flags, nullptr);
  // In a folder that may not be written, a reader can't make the memory that WAL shares; when nobody writes, it need
  // not.
  if (options.read_only && code == SQLITE_OK && !std::filesystem::exists(path + "-wal", none)) {
    const int reading = sqlite3_exec(database_, "SELECT 1 FROM sqlite_master", nullptr, nullptr, nullptr);
    if (reading == SQLITE_CANTOPEN || reading == SQLITE_READONLY) {
      sqlite3_close(database_);
      code = sqlite3_open_v2(immutable_uri(path).c_str(), &database_, flags | SQLITE_OPEN_URI, nullptr);
    }
  }
  try {
    if (code != SQLITE_OK) failed(code);
    sqlite3_extended_result_codes(database_, 1);
    sqlite3_busy_timeout(database_, static_cast<int>(std::min(options.wait_seconds, 1e6) * 1000));
    if (!options.read_only && sqlite3_db_readonly(database_, "main") == 1)
      fail("{}: may only be read; a search writes to it. Give it write permission, or copy it", path);
    // What the file says of functions in its schema is not run.
    sqlite3_db_config(database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    if (options.read_only) return;
    use_wal();
    execute(durable_ ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  } catch (...) {
    for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
    sqlite3_close(database_);
    throw;
  }
}

// Readers and one writer side by side. A file system without shared memory keeps its rollback journal. Of several
// workers that begin at once one changes the mode, and the others, whom SQLite does not let wait for that, ask again.
void SqliteDatabase::use_wal() {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const int code = sqlite3_exec(database_, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return;
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    if ((code & 0xff) != SQLITE_BUSY || waited.count() > wait_seconds_) failed(code);
    check_stop();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// The log is written in order: what is flushed takes along what came before.
void SqliteDatabase::set_flush(Flush flush) {
  if (!durable_ || flush == flush_) return;
  query(flush == Flush::now ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL").run();
  flush_ = flush;
}

SqliteDatabase::~SqliteDatabase() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(database_);
}

SqliteQuery SqliteDatabase::query(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (!statement) {
    const int code = sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) {
      statements_.erase(sql);
      failed(code);
    }
  }
  return {*this, statement};
}

void SqliteDatabase::execute(const std::string& sql) {
  const int code = sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) failed(code);
}

int64_t SqliteDatabase::last_id() const { return sqlite3_last_insert_rowid(database_); }
int64_t SqliteDatabase::changes() const { return sqlite3_changes64(database_); }

void SqliteDatabase::roll_back() noexcept { sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr); }

void SqliteDatabase::failed(int code) const {
  const std::string why = database_ ? sqlite3_errmsg(database_) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      fail(
          "{}: another process has held its lock for more than {:g} s; is one stopped inside a write? Close what has "
          "the file open and try again",
          path_, wait_seconds_);
    case SQLITE_FULL:
      fail("{}: the disk is full; what was written before is kept. Make room and go on", path_);
    case SQLITE_READONLY:
      fail("{}: may only be read ({}). Give write permission to it and its folder", path_, why);
    case SQLITE_NOTADB:
      fail("{}: is no SQLite database; give a new name, or the file of a study", path_);
    case SQLITE_CORRUPT:
      fail("{}: the database is damaged ({}); restore a copy, or save what \"sqlite3 {} .recover\" finds", path_, why,
           path_);
    case SQLITE_CANTOPEN:
      fail("{}: can't be opened ({}); are the folder there and its permissions right?", path_, why);
    case SQLITE_IOERR:
      fail("{}: reading or writing failed ({}); is the disk full or gone?", path_, why);
    default:
      fail("{}: {} (SQLite error {})", path_, why, code);
  }
}

}  // namespace hone
