// What Optuna's tables mean, whichever database they are in: schema 12, revision v3.2.0.a, which versions 3.2 to 5
// share; times as text; numbers that are not finite as words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

inline constexpr int kOptunaSchema = 12;
inline constexpr const char* kOptunaRevision = "v3.2.0.a";
inline constexpr const char* kOptunaLibrary = "5.0.0";  // whose conventions (times in UTC) hold in tables that we make

struct SchemaFacts {
  bool local_times = false;  // times are those of this machine's zone: before Optuna 5; otherwise UTC

  std::optional<std::string> time_text(std::optional<int64_t> us) const;
  std::optional<int64_t> parse_time_text(std::string_view text) const;
};

// What the tables' versions say; an empty revision is taken for ours. Throws Error for another schema, with what to do;
// `url` is the database as Optuna names it.
SchemaFacts check_versions(const std::string& name, const std::string& url, const std::string& schema,
                           const std::string& revision, const std::string& library);

// Columns of floats hold finite ones; a word beside them says what the others are.
std::string_view number_kind(double value);
double number_of_kind(double value, std::string_view kind);

}  // namespace hone
