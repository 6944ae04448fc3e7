#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "search/storage.h"
#include "search/storages/journal.h"
#include "search/storages/memory.h"
#include "search/storages/sqlite.h"

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
  const size_t slashes = place.find("://");
  const size_t at = place.rfind('@');
  if (slashes == place.npos || at == place.npos || at < slashes) return std::string(place);
  return std::string(place.substr(0, slashes + 3)) + "***" + std::string(place.substr(at));
}

std::shared_ptr<Storage> open_storage(const std::string& place, const StorageOptions& options) {
  if (place == "memory") return memory_storage();
  std::string path = place;
  if (take_prefix(path, "journal:")) return journal_storage(path, options);
  const bool is_sqlite = take_prefix(path, "sqlite:///");
  if (!is_sqlite && path.find("://") != path.npos)
    fail(
        "{}: studies are kept in SQLite files (study.db, sqlite:///study.db), journals (study.log, journal:FILE) or "
        "memory; no other databases",
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
