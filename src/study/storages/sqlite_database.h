// SQLite behind values and exceptions: a connection, statements that are compiled once, transactions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "study/storage.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hone {

class SqliteDatabase;

enum class Flush : uint8_t { now, later };

// A statement while it runs; it is reset in the end. Values are bound, never put into SQL.
class SqliteQuery {
 public:
  SqliteQuery(SqliteDatabase& database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
  ~SqliteQuery();
  SqliteQuery(const SqliteQuery&) = delete;
  SqliteQuery& operator=(const SqliteQuery&) = delete;

  // The next parameter; in order.
  SqliteQuery& bind(int64_t value);
  SqliteQuery& bind(double value);
  SqliteQuery& bind(std::string_view value);
  SqliteQuery& bind_null();
  template <class T>
  SqliteQuery& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind_null();
  }

  bool step();  // whether there is a row
  void run() {
    while (step()) {
    }
  }

  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const { return std::string(view(column)); }
  std::string_view view(int column) const;  // until the next step
  bool is_null(int column) const;

 private:
  SqliteDatabase& database_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

class SqliteDatabase {
 public:
  // Throws Error when the file can't be opened, or is no database.
  SqliteDatabase(const std::string& path, const StorageOptions& options);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  SqliteQuery query(const char* sql);  // `sql` is a literal: compiled at its first use
  void execute(const std::string& sql);

  // Runs it in a transaction that has the write lock from the beginning, so that it can't fail half-way for want of it.
  // With Flush::later it is on the disk when the next one is that is flushed (options.durable; else none is).
  template <class F>
  auto write(F&& work, Flush flush = Flush::now) {
    set_flush(flush);
    return transaction("BEGIN IMMEDIATE", work);
  }
  template <class F>
  auto read(F&& work) {
    return transaction("BEGIN", work);
  }

  int64_t last_id() const;
  int64_t changes() const;
  const std::string& path() const { return path_; }
  [[noreturn]] void failed(int code) const;

 private:
  template <class F>
  auto transaction(const char* begin, F& work) {
    query(begin).run();
    struct End {
      SqliteDatabase& database;
      bool done = false;
      ~End() {
        if (!done) database.roll_back();
      }
    } end{*this};
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      query("COMMIT").run();
      end.done = true;
    } else {
      auto result = work();
      query("COMMIT").run();
      end.done = true;
      return result;
    }
  }
  void roll_back() noexcept;
  void use_wal();
  void set_flush(Flush flush);

  std::string path_;
  double wait_seconds_;
  bool durable_;
  Flush flush_ = Flush::now;
  sqlite3* database_ = nullptr;
  std::map<const char*, sqlite3_stmt*> statements_;  // by the literal's address
};

}  // namespace hone
