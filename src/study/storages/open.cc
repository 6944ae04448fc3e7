#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "study/storage.h"
#include "study/storages/journal.h"
#include "study/storages/memory.h"
#include "study/storages/postgres.h"
#include "study/storages/postgres_database.h"
#include "study/storages/sqlite.h"

namespace hone {
namespace {

enum class FileKind : uint8_t { none, empty, sqlite, journal, other };

FileKind kind_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return FileKind::none;
  char head[16] = {};
  file.read(head, sizeof head);
  const std::string_view start(head, static_cast<size_t>(file.gcount()));
  if (start.empty()) return FileKind::empty;
  if (start.starts_with("SQLite format 3")) return FileKind::sqlite;
  return start[0] == '{' ? FileKind::journal : FileKind::other;
}

bool names_journal(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension();
  return ending == ".log" || ending == ".journal" || ending == ".jsonl";
}

bool take_prefix(std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.erase(0, prefix.size());
  return true;
}

}  // namespace

std::string without_credentials(std::string_view place) {
  std::string shown;
  while (!place.empty()) {
    const size_t end = std::min(place.find(' '), place.size());
    std::string word(place.substr(0, end));
    const size_t slashes = word.find("://"), at = word.rfind('@');
    if (slashes != word.npos && at != word.npos && at > slashes) word.replace(slashes + 3, at - slashes - 3, "***");
    for (const std::string_view key : {"password=", "sslpassword="})
      for (size_t found = word.find(key); found != word.npos && slashes != word.npos;
           found = word.find(key, found + 1)) {
        const size_t value = found + key.size();
        word.replace(value, std::min(word.find('&', value), word.size()) - value, "***");
      }
    shown += word;
    place.remove_prefix(end);
    while (place.starts_with(' ')) {
      shown += ' ';
      place.remove_prefix(1);
    }
  }
  return shown;
}

std::optional<std::string> credentials_warning(std::string_view place) {
  if (!names_postgres(place)) return std::nullopt;
  const PostgresAddress address = parse_postgres_address(std::string(place));
  if (!address.has_password) return std::nullopt;
  return fmt::format(
      "{}: the password is in the command line, where other users of this machine see it; put it into the "
      "file of PGPASSFILE (~/.pgpass) or into PGPASSWORD",
      address.shown);
}

TrialRecord Storage::begin_trial(int64_t study, int64_t started) {
  if (std::optional<TrialRecord> waiting = pop_waiting(study)) return std::move(*waiting);
  TrialRecord record{.started = started};
  const TrialKey key = create_trial(study, record);
  record.id = key.id;
  record.number = key.number;
  return record;
}

std::shared_ptr<Storage> open_storage(const std::string& place, const StorageOptions& options) {
  if (place == "memory") return memory_storage();
  if (names_postgres(place)) return postgres_storage(place, options);
  std::string path = place;
  if (take_prefix(path, "journal:")) return journal_storage(path, options);
  const bool is_sqlite = take_prefix(path, "sqlite:///");
  if (!is_sqlite && path.find("://") != path.npos)
    fail(
        "{}: studies are kept in SQLite files (study.db, sqlite:///study.db), journals (study.log, journal:FILE), on "
        "PostgreSQL servers (postgresql://user@host/database) or in memory; no other databases",
        without_credentials(place));
  if (path.empty()) fail("the storage has no name; give a file such as study.db");
  const FileKind kind = kind_of(path);
  if (kind == FileKind::other)
    fail("{}: is neither a SQLite database nor a journal; give a new name, or a study's file", path);
  if (!is_sqlite &&
      (kind == FileKind::journal || ((kind == FileKind::none || kind == FileKind::empty) && names_journal(path))))
    return journal_storage(path, options);
  if (kind == FileKind::journal) fail("{}: is a journal, no SQLite database; give journal:{}", path, path);
  return sqlite_storage(path, options);
}

StudyRecord find_study(Storage& storage, const std::string& name) {
  std::vector<StudyRecord> all = storage.studies();
  std::vector<std::string> names;
  for (StudyRecord& study : all) {
    if (study.name == name) return study;
    names.push_back(study.name);
  }
  if (names.empty()) fail("{}: holds no study yet, so none called \"{}\"", storage.name(), name);
  std::string known;
  for (size_t i = 0; i < names.size() && i < 20; ++i) known += (i ? ", " : "") + names[i];
  fail("{}: there is no study \"{}\"; there are: {}{}{}", storage.name(), name, known, names.size() > 20 ? ", …" : "",
       did_you_mean(name, names));
}

}  // namespace hone
