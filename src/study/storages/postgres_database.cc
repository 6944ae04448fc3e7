#include "study/storages/postgres_database.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/stop.h"

namespace hone {
namespace {

constexpr std::string_view kSchemes[] = {"postgresql", "postgres"};

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text)
    if (c == '\n' || c == '\t') c = ' ';
  return text;
}

// Failures that pass: the server starts, stops or has no place for another connection.
bool passes(const std::string& message) {
  for (const char* text : {"starting up", "shutting down", "Connection refused", "No such file or directory",
                           "server closed the connection", "recovery mode", "too many clients", "remaining connection",
                           "timeout expired", "not yet accepting", "Connection reset"})
    if (message.find(text) != message.npos) return true;
  return false;
}

}  // namespace

bool names_postgres(std::string_view place) {
  for (std::string_view scheme : kSchemes)
    if (place.starts_with(scheme) &&
        (place.substr(scheme.size()).starts_with("://") || place.substr(scheme.size()).starts_with("+")))
      return place.find("://") != place.npos;
  return false;
}

PostgresAddress parse_postgres_address(const std::string& place) {
  // Optuna's addresses name a driver of Python after a plus.
  PostgresAddress address{.url = "postgresql" + place.substr(place.find("://")), .shown = without_credentials(place)};
  const Libpq& pq = libpq();
  char* error = nullptr;
  PgOption* options = pq.PQconninfoParse(address.url.c_str(), &error);
  if (error) pq.PQfreemem(error);  // it repeats the address, password and all
  if (!options)
    fail(
        "{}: is no address of a PostgreSQL database; write postgresql://user@host:port/database, with %-codes for "
        "characters such as @ / ? % in names",
        address.shown);
  for (const PgOption* o = options; o->keyword; ++o) {
    const std::string_view key = o->keyword;
    if (o->val && key == "options") address.options = o->val;
    if (!o->val || (key != "password" && key != "sslpassword")) continue;
    address.has_password = true;
    if (*o->val) address.secrets.emplace_back(o->val);
  }
  pq.PQconninfoFree(options);
  if (const char* set = std::getenv("PGOPTIONS"); set && address.options.empty()) address.options = set;
  return address;
}

PgValues& PgValues::add(std::string_view text) {
  if (text.find('\0') != text.npos)
    fail("PostgreSQL keeps no text with a zero byte: \"{}\"", text.substr(0, text.find('\0')));
  all_.emplace_back(text);
  return *this;
}
PgValues& PgValues::add(int64_t value) {
  all_.emplace_back(std::to_string(value));
  return *this;
}
PgValues& PgValues::add_null() {
  all_.emplace_back();
  return *this;
}
PgValues& PgValues::add_array(std::span<const std::string> texts) {
  std::string list = "{";
  for (const std::string& text : texts) {
    list += list.size() > 1 ? ",\"" : "\"";
    for (char c : text) {
      if (c == '"' || c == '\\') list += '\\';
      list += c;
    }
    list += '"';
  }
  return add(list + "}");
}
PgValues& PgValues::add_array(std::span<const int64_t> values) {
  return add(fmt::format("{{{}}}", fmt::join(values, ",")));
}
PgValues& PgValues::add_array(std::span<const double> values) {
  std::string list = "{";
  for (double value : values) {
    if (list.size() > 1) list += ',';
    list += std::isfinite(value) ? fmt::format("{}", value) : "NULL";
  }
  return add(list + "}");
}
std::vector<const char*> PgValues::pointers() const {
  std::vector<const char*> result;
  for (const auto& value : all_) result.push_back(value ? value->c_str() : nullptr);
  return result;
}

PgRows::~PgRows() {
  if (result_) pq_->PQclear(result_);
}
int PgRows::size() const { return pq_->PQntuples(result_); }
bool PgRows::is_null(int row, int column) const { return pq_->PQgetisnull(result_, row, column) != 0; }
std::string_view PgRows::text(int row, int column) const {
  return {pq_->PQgetvalue(result_, row, column), static_cast<size_t>(pq_->PQgetlength(result_, row, column))};
}
int64_t PgRows::integer(int row, int column) const {
  const std::string_view digits = text(row, column);
  int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}
double PgRows::real(int row, int column) const {
  const std::string_view digits = text(row, column);
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);  // "NaN" and "Infinity", too
  return value;
}

PostgresDatabase::PostgresDatabase(const std::string& place, const StorageOptions& options)
    : pq_(libpq()), address_(parse_postgres_address(place)), options_(options) {
  try {
    connect();
  } catch (const Lost&) {
    close();
    fail("{}: the server closed the connection at once; does it stop just now?", name());
  } catch (...) {
    close();
    throw;
  }
}

PostgresDatabase::~PostgresDatabase() { close(); }

void PostgresDatabase::close() {
  if (connection_) pq_.PQfinish(connection_);
  connection_ = nullptr;
  prepared_.clear();
}

void PostgresDatabase::connect() {
  close();
  // Those before the address are for what it does not say.
  constexpr std::array keys{"fallback_application_name", "connect_timeout", "dbname",
                            "client_encoding",           "options",         static_cast<const char*>(nullptr)};
  // A session's own settings, given with its start: no round trip. Notices are not for a library to print.
  const std::string settings = fmt::format(
      "{} -c lock_timeout={} -c client_min_messages=error -c DateStyle=ISO -c extra_float_digits=1 -c "
      "default_transaction_isolation=read\\ committed -c default_transaction_read_only={}",
      address_.options, static_cast<int64_t>(std::clamp(options_.wait_seconds, 0.001, 1e6) * 1000),
      options_.read_only ? "on" : "off");
  const std::array values{
      "hone", "10", address_.url.c_str(), "UTF8", settings.c_str(), static_cast<const char*>(nullptr)};
  connection_ = pq_.PQconnectdbParams(keys.data(), values.data(), 1);
  if (!connection_) fail("{}: there is no memory for a connection", name());
  if (pq_.PQstatus(connection_) != Libpq::kConnectionOk) {
    const std::string message = without_secrets(trimmed(pq_.PQerrorMessage(connection_)));
    close();
    if (connections_ > 0 && passes(message)) throw Lost{};
    const auto says = [&](const char* text) { return message.find(text) != message.npos; };
    fail("{}: {}. {}", name(), message,
         says("password") || says("authentication") || says("pg_hba")
             ? "Give credentials in the file of PGPASSFILE (~/.pgpass) or in PGPASSWORD"
         : says("does not exist") ? "Make it: createdb, createuser"
                                  : "Does the server run there, and does it take connections?");
  }
  pq_.PQsetNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr);
  if (pq_.PQenterPipelineMode(connection_) != 1)
    fail("{}: {}", name(), without_secrets(trimmed(pq_.PQerrorMessage(connection_))));
  ++connections_;
  const PgStatement statement{
      "SELECT current_setting('synchronous_commit'), set_config('synchronous_commit', 'off', false)"};
  commit_level_ = std::string(run_once({&statement, 1})[0].text(0, 0));
}

std::vector<PgRows> PostgresDatabase::run(std::span<const PgStatement> statements) {
  const auto begin = std::chrono::steady_clock::now();
  for (auto pause = std::chrono::milliseconds(2);; pause = std::min(2 * pause, std::chrono::milliseconds(500))) {
    try {
      if (!connection_) connect();
      return run_once(statements);
    } catch (const Lost&) {
      close();
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
      if (waited.count() > options_.wait_seconds)
        fail(
            "{}: the connection was lost, and for {:g} s there was no other. What was told before is kept; go on when "
            "the "
            "server runs",
            name(), options_.wait_seconds);
      check_stop();
      std::this_thread::sleep_for(pause);
    }
  }
}

PgRows PostgresDatabase::run(const PgStatement& statement) { return std::move(run(std::span(&statement, 1))[0]); }

std::vector<PgRows> PostgresDatabase::run_once(std::span<const PgStatement> statements) {
  struct Sent {
    size_t statement;
    bool prepares;
  };
  std::vector<Sent> sent;
  std::map<std::string_view, std::string> preparing;
  const auto must = [&](int ok) {
    if (ok != 1) throw Lost{};
  };
  for (size_t i = 0; i < statements.size(); ++i) {
    const PgStatement& s = statements[i];
    const auto known = prepared_.find(s.sql);
    std::string statement = known != prepared_.end() ? known->second : preparing[s.sql];
    if (statement.empty()) {
      statement = preparing[s.sql] = fmt::format("hone{}", prepared_.size() + preparing.size());
      must(pq_.PQsendPrepare(connection_, statement.c_str(), s.sql.c_str(), 0, nullptr));
      sent.push_back({i, true});
    }
    const std::vector<const char*> values = s.values.pointers();
    must(pq_.PQsendQueryPrepared(connection_, statement.c_str(), s.values.count(), values.data(), nullptr, nullptr, 0));
    sent.push_back({i, false});
  }
  must(pq_.PQpipelineSync(connection_));

  std::vector<PgRows> rows;
  std::string state, message;
  for (const Sent& one : sent) {
    PgResult* result = pq_.PQgetResult(connection_);
    if (!result) throw Lost{};
    const int status = pq_.PQresultStatus(result);
    PgRows got(pq_, result);
    if (status == Libpq::kCommandOk || status == Libpq::kTuplesOk) {
      if (one.prepares) prepared_[statements[one.statement].sql] = preparing[statements[one.statement].sql];
      else rows.push_back(std::move(got));
    } else if (status != Libpq::kPipelineAborted && message.empty()) {
      const char* code = pq_.PQresultErrorField(result, Libpq::kSqlState);
      const char* text = pq_.PQresultErrorField(result, Libpq::kMessage);
      state = code ? code : "";
      message = text ? text : trimmed(pq_.PQerrorMessage(connection_));
      // 08: connection; 57P01 to 57P03: the server goes down or has not come up.
      if (state.empty() || state.starts_with("08") || state.starts_with("57P") ||
          pq_.PQstatus(connection_) != Libpq::kConnectionOk)
        throw Lost{};
    }
    while (PgResult* rest = pq_.PQgetResult(connection_)) {
      pq_.PQclear(rest);
      if (pq_.PQstatus(connection_) != Libpq::kConnectionOk) throw Lost{};
    }
  }
  // The transaction commits with this: before it came, nothing is known to hold.
  PgResult* end = pq_.PQgetResult(connection_);
  const int status = end ? pq_.PQresultStatus(end) : -1;
  if (status != Libpq::kPipelineSync && end && message.empty()) {  // a check that is made at the commit
    const char* code = pq_.PQresultErrorField(end, Libpq::kSqlState);
    const char* text = pq_.PQresultErrorField(end, Libpq::kMessage);
    state = code ? code : "";
    message = text ? text : "";
  }
  if (end) pq_.PQclear(end);
  if (status != Libpq::kPipelineSync && (message.empty() || state.empty() || state.starts_with("57P"))) throw Lost{};
  if (status != Libpq::kPipelineSync) close();  // what else it would say belongs to nobody
  if (!message.empty()) {
    if (state == "40P01" || state == "40001") throw Lost{};  // deadlock: another was let through; once more
    state_ = state;
    failed(state, without_secrets(trimmed(message)));
  }
  return rows;
}

std::string PostgresDatabase::without_secrets(std::string text) const {
  for (const std::string& secret : address_.secrets)
    for (size_t at = text.find(secret); at != text.npos; at = text.find(secret, at + 3))
      text.replace(at, secret.size(), "***");
  return text;
}

void PostgresDatabase::failed(const std::string& state, const std::string& message) const {
  if (state == "55P03")
    fail(
        "{}: another session has held a lock for more than {:g} s; is one stopped inside a transaction? "
        "pg_stat_activity says which",
        name(), options_.wait_seconds);
  if (state == "53100")
    fail("{}: the server's disk is full; what was told before is kept. Make room and go on", name());
  if (state.starts_with("53"))
    fail("{}: the server has no room: {}. Fewer workers, or a larger limit there", name(), message);
  if (state == "25006") fail("{}: may only be read ({}); is it a standby? Give the primary server", name(), message);
  if (state == "42501") fail("{}: {}. Give the role the right: GRANT", name(), message);
  if (state == "22001")
    fail("{}: {}; names of studies, parameters and attributes have at most 512 characters", name(), message);
  fail("{}: {} (SQLSTATE {})", name(), message, state);
}

}  // namespace hone
