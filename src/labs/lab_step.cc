#include "labs/lab_step.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/shell.h"
#include "base/text.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::string hash_of_folder(const std::string& path) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path, fs::directory_options::follow_directory_symlink))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::ranges::sort(files);
  Sha256 all;
  for (const std::string& file : files)
    all.update(fmt::format("{}\n{}\n", fs::relative(file, path).string(), sha256_of_file(file)));
  return all.hex();
}

std::string place_of_result(const LabStep& step, const LabPlaces& places) {
  if (!step.is_shared) return fmt::format("{}/steps/{}.json", places.output, step.name);
  return fmt::format("{}/made/steps/{}{}.json", places.data, step.name, places.quick ? "-quick" : "");
}

// Files and folders that its words name, alone or behind "=", but for what it makes.
Json files_read(const LabStep& step, FileHashes& hashes) {
  Json files = Json::object();
  for (const std::string& word : step.words) {
    const std::string path = fs::exists(word) ? word : word.substr(word.find('=') + 1);
    if (path.find('/') == path.npos || !fs::exists(path)) continue;
    if (std::ranges::find(step.makes, path) == step.makes.end()) files[path] = hashes.of(path);
  }
  return files;
}

// Names of files need not be UTF-8: what is not is replaced, here as in what is kept.
std::string text_of(const Json& record) { return record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json command_of(const LabStep& step, FileHashes& hashes) {
  const Json command{{"command", "hone " + shell_line(step.words)}, {"files", files_read(step, hashes)}};
  return parse_json(text_of(command), step.name);
}

// What was kept of it, where it is of the same command and files.
Json kept(const std::string& path, const Json& command) {
  if (!fs::exists(path)) return {};
  Json record = read_json_file(path);
  for (const auto& [key, value] : command.items())
    if (!record.is_object() || !record.contains(key) || record.at(key) != value) return {};
  return record;
}

bool are_there(const std::vector<std::string>& paths) {
  return std::ranges::all_of(paths, [](const std::string& path) { return fs::exists(path); });
}

// What another command left is no part of this one; databases keep parts of themselves in files beside them.
void remove_made(const LabStep& step) {
  for (const std::string& made : step.makes)
    for (const char* part : {"", "-wal", "-shm"}) fs::remove_all(made + part);
}

Json result_of(const LabStep& step, const VerbOutput& output) {
  if (step.must_fail) {
    if (output.error.empty()) fail("{} was to be refused, and was not: hone {}", step.name, shell_line(step.words));
    return output.error;
  }
  if (!output.error.empty()) fail("{}: {}\nThe command was: hone {}", step.name, output.error, shell_line(step.words));
  return step.prints_json ? parse_json(output.out, "hone " + step.words.front()) : Json(output.out);
}

}  // namespace

const std::string& FileHashes::of(const std::string& path) {
  const auto [found, is_new] = known_.try_emplace(path);
  if (is_new) found->second = fs::is_directory(path) ? hash_of_folder(path) : sha256_of_file(path);
  return found->second;
}

StepRecord run_step(const LabStep& step, const LabPlaces& places, FileHashes& hashes, const LabContext& context) {
  const std::string path = place_of_result(step, places);
  Json record = command_of(step, hashes);
  if (const Json known = kept(path, record); known.contains("result") && are_there(step.makes))
    return {known.at("result"), json_get<double>(known, "seconds", path), true};
  else if (known.is_null()) remove_made(step);
  fs::create_directories(fs::path(path).parent_path());
  for (const std::string& made : step.makes) fs::create_directories(fs::path(made).parent_path());
  write_file(path, text_of(record));
  const auto begin = std::chrono::steady_clock::now();
  record["result"] = result_of(step, context.run_verb(step.words));
  record["seconds"] = milliseconds_since(begin) / 1000;
  write_file(path, text_of(record));
  return {record.at("result"), record.at("seconds").get<double>()};
}

}  // namespace hone
