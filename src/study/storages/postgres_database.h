// PostgreSQL behind values and exceptions: one connection, statements that the server plans once, and several of them
// in one transaction and one round trip.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/storage.h"
#include "study/storages/libpq.h"

namespace hone {

// A server's address: what libpq takes, with the password apart.
struct PostgresAddress {
  std::string url;      // "postgresql://user@host/database", as libpq reads it
  std::string shown;    // without credentials
  std::string options;  // settings of the session that the address or PGOPTIONS asks for
  std::vector<std::string> secrets;
  bool has_password = false;  // in the address itself
};
bool names_postgres(std::string_view place);  // postgresql://, postgres://, postgresql+psycopg://
PostgresAddress parse_postgres_address(const std::string& place);

// Values of a statement, in the order of $1, $2, … Never put into SQL.
class PgValues {
 public:
  PgValues& add(std::string_view text);
  PgValues& add(int64_t value);
  PgValues& add_null();
  PgValues& add_or_null(const std::optional<std::string>& text) {
    return text ? add(std::string_view(*text)) : add_null();
  }
  PgValues& add_array(std::span<const std::string> texts);
  PgValues& add_array(std::span<const int64_t> values);
  PgValues& add_array(std::span<const double> values);  // those that are not finite become null
  int count() const { return static_cast<int>(all_.size()); }
  std::vector<const char*> pointers() const;

 private:
  std::vector<std::optional<std::string>> all_;
};

struct PgStatement {
  std::string sql;
  PgValues values = {};
};

class PgRows {
 public:
  PgRows(const Libpq& pq, PgResult* result) : pq_(&pq), result_(result) {}
  ~PgRows();
  PgRows(PgRows&& other) noexcept : pq_(other.pq_), result_(std::exchange(other.result_, nullptr)) {}
  PgRows& operator=(PgRows&&) = delete;

  int size() const;
  bool is_null(int row, int column) const;
  std::string_view text(int row, int column) const;  // empty where it is null
  int64_t integer(int row, int column) const;
  double real(int row, int column) const;

 private:
  const Libpq* pq_;
  PgResult* result_;
};

class PostgresDatabase {
 public:
  // Throws Error when there is no such server or database, or it does not let us in.
  PostgresDatabase(const std::string& place, const StorageOptions& options);
  ~PostgresDatabase();
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  // All in one transaction: all hold, or none and an Error says why. When the connection is lost, it is made again for
  // as long as options.wait_seconds and the statements run once more: they may have held before.
  std::vector<PgRows> run(std::span<const PgStatement> statements);
  PgRows run(const PgStatement& statement);

  // How often the connection was made. A number that grew between two calls: the server may have gone down.
  int64_t connections() const { return connections_; }
  const std::string& name() const { return address_.shown; }
  // What the server would have done at commits; the connection itself does not wait for the disk.
  const std::string& commit_level() const { return commit_level_; }
  // SQLSTATE of the last failure: "23505".
  const std::string& state() const { return state_; }

 private:
  struct Lost {};  // the connection
  void connect();
  void close();
  std::vector<PgRows> run_once(std::span<const PgStatement> statements);
  [[noreturn]] void failed(const std::string& state, const std::string& message) const;
  std::string without_secrets(std::string text) const;

  const Libpq& pq_;
  PostgresAddress address_;
  StorageOptions options_;
  PgConnection* connection_ = nullptr;
  int64_t connections_ = 0;
  std::string commit_level_, state_;
  std::map<std::string, std::string> prepared_;  // SQL and the statement's name on this connection
};

}  // namespace hone
