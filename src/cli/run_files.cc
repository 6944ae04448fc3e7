#include "cli/run_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/inputs.h"
#include "cli/flags.h"
#include "exporters/registry.h"

namespace hone {
namespace fs = std::filesystem;

RunFiles::File::File(std::string_view its_flag, const std::string& its_path) : flag(its_flag), path(its_path) {
  std::error_code unknown;
  const fs::path absolute = fs::absolute(path, unknown);
  place = fs::weakly_canonical(absolute, unknown);
  if (unknown) place = absolute.lexically_normal();
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) return;
  identity = {there.st_dev, there.st_ino};
  is_folder = S_ISDIR(there.st_mode);
}

bool RunFiles::File::is_same(const File& other) const {
  return place == other.place || (identity && identity == other.identity);
}

// Whether a model's folder may be read in part from a file of this name in it.
bool RunFiles::is_part_of_folder(const File& file, const File& folder) {
  const fs::path inside = file.place.lexically_relative(folder.place);
  if (inside.empty() || *inside.begin() == "..") return false;
  constexpr std::array<const char*, 8> kEndings{".json", ".txt", ".model", ".bin", ".pt", ".pth", ".pkl", ".ckpt"};
  const std::string name = inside.filename().string();
  return std::ranges::find(kEndings, inside.extension()) != kEndings.end() || name == "model.safetensors" ||
         (name.starts_with("model-") && name.ends_with(".safetensors"));
}

RunFiles& RunFiles::reads(std::string_view flag, const std::string& path) {
  if (!path.empty()) inputs_.emplace_back(flag, path);
  return *this;
}

RunFiles& RunFiles::reads(std::string_view flag, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) reads(flag, path);
  return *this;
}

RunFiles& RunFiles::reads_pairs(std::string_view flag, const std::vector<std::string>& pairs) {
  for (const std::string& pair : pairs)
    if (const size_t equals = pair.find('='); equals != std::string::npos) reads(flag, pair.substr(equals + 1));
  return *this;
}

RunFiles& RunFiles::writes(std::string_view flag, const std::string& path) {
  if (path.empty()) return *this;
  outputs_.emplace_back(flag, path);
  for (const ExporterDef* exporter : exporters::all())
    if (*exporter->beside && path.ends_with(exporter->ending)) outputs_.emplace_back(flag, path + exporter->beside);
  return *this;
}

RunFiles& RunFiles::replaces(std::string_view flag, const std::string& path) {
  writes(flag, path);
  if (!path.empty()) outputs_.back().may_be_input = true;
  return *this;
}

void RunFiles::check_against_inputs(const File& output) const {
  for (const File& input : inputs_) {
    if (input.is_folder && is_part_of_folder(output, input))
      fail("{} {}: is part of {} {}, which is read; choose another place", output.flag, output.path, input.flag,
           input.path);
    if (!input.is_folder && !output.may_be_input && output.is_same(input))
      fail("{} {}: is read as {}; choose another name for what is written", output.flag, output.path, input.flag);
  }
}

void RunFiles::check() const {
  keep_inputs();
  for (const File& input : inputs_) reads_in_this_command(input.path);
  std::map<fs::path, const File*> by_place;
  std::map<std::pair<dev_t, ino_t>, const File*> by_identity;
  for (const File& output : outputs_) {
    check_against_inputs(output);
    const File* other = by_place.emplace(output.place, &output).first->second;
    if (other == &output && output.identity) other = by_identity.emplace(*output.identity, &output).first->second;
    if (other != &output)
      fail("{} {}: is also what {} writes; give each a file of its own", output.flag, output.path, other->flag);
  }
}

}  // namespace hone
