#include "study/storages/optuna_tables.h"

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>

#include "base/error.h"
#include "study/timestamp.h"

namespace hone {
namespace {

// Microseconds that UTC is ahead of this machine's zone by, at a time given in UTC.
int64_t local_offset(int64_t us) {
  const std::time_t seconds = us / 1'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  return local.tm_gmtoff * 1'000'000;
}

}  // namespace

std::optional<std::string> SchemaFacts::time_text(std::optional<int64_t> us) const {
  if (!us) return std::nullopt;
  return sql_time(local_times ? *us + local_offset(*us) : *us);
}

std::optional<int64_t> SchemaFacts::parse_time_text(std::string_view text) const {
  const std::optional<int64_t> us = parse_time(text);
  if (!us) return std::nullopt;
  return local_times ? *us - local_offset(*us) : *us;
}

SchemaFacts check_versions(const std::string& name, const std::string& url, const std::string& schema,
                           const std::string& revision, const std::string& library) {
  if (schema != std::to_string(kOptunaSchema) || (!revision.empty() && revision != kOptunaRevision)) {
    const bool older = schema.empty() || std::atoi(schema.c_str()) < kOptunaSchema ||
                       (schema == std::to_string(kOptunaSchema) && revision < kOptunaRevision);
    fail("{}: its schema is {} {}; read and written is {} {} of Optuna 3.2 to 5. {}", name, schema, revision,
         kOptunaSchema, kOptunaRevision,
         older ? "Bring it up with: optuna storage upgrade --storage " + url
               : "A newer program made it: export the study there, or start a new one elsewhere");
  }
  return {.local_times = library.starts_with("3.") || library.starts_with("4.")};
}

std::string_view number_kind(double value) {
  if (std::isnan(value)) return "NAN";
  return std::isinf(value) ? (value > 0 ? "INF_POS" : "INF_NEG") : "FINITE";
}

double number_of_kind(double value, std::string_view kind) {
  if (kind == "INF_POS") return std::numeric_limits<double>::infinity();
  if (kind == "INF_NEG") return -std::numeric_limits<double>::infinity();
  return kind == "NAN" ? std::numeric_limits<double>::quiet_NaN() : value;
}

}  // namespace hone
