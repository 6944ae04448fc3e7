#include "nas/best_models.h"

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSaved = "saved models";  // attribute of a study

}  // namespace

BestModels::BestModels(std::string output, bool is_folder, std::string study)
    : output_(std::move(output)), is_folder_(is_folder), study_(std::move(study)) {
  if (output_.empty()) return;
  if (!is_folder_) {
    if (!output_.ends_with(".safetensors")) fail("{}: the name of the chosen model must end in .safetensors", output_);
    return;
  }
  if (output_.ends_with(".safetensors") || (fs::exists(output_) && !fs::is_directory(output_)))
    fail("{}: several models are chosen, of several objectives or studies; -o is a folder for them", output_);
  std::error_code problem;
  fs::create_directories(output_, problem);
  if (problem) fail("{}: the folder can't be made: {}", output_, problem.message());
}

std::string BestModels::path_of(int64_t number) const {
  return is_folder_ ? fmt::format("{}/{}-{}.safetensors", output_, study_, number) : output_;
}

Json BestModels::saved(const Study& study) const {
  for (const StudyRecord& record : study.storage().studies())
    if (record.id == study.record().id && record.user_attributes.is_object() &&
        record.user_attributes.contains(kSaved) && record.user_attributes.at(kSaved).is_object())
      return record.user_attributes.at(kSaved);
  return Json::object();
}

void BestModels::offer(Study& study, int64_t number, const std::string& file) {
  if (!keeps()) return;
  const std::vector<TrialPtr> best = study.best();
  if (std::ranges::find(best, number, &TrialRecord::number) == best.end()) return;
  const Json before = saved(study);
  Json kept = Json::object();
  for (const auto& [name, sha] : before.items()) {
    const bool stays =
        std::ranges::any_of(best, [&, &name = name](const TrialPtr& t) { return std::to_string(t->number) == name; });
    if (stays) kept[name] = sha;
    else if (is_folder_) fs::remove(path_of(std::stoll(name)));
  }
  write_file(path_of(number), read_file(file));
  kept[std::to_string(number)] = sha256_of_file(file);
  study.set_user_attribute(kSaved, kept);
}

std::vector<TrialPtr> BestModels::missing(const Study& study) const {
  std::vector<TrialPtr> all;
  if (!keeps()) return all;
  const Json kept = saved(study);
  for (const TrialPtr& trial : study.best()) {
    const auto sha = kept.find(std::to_string(trial->number));
    const std::string path = path_of(trial->number);
    if (sha == kept.end() || !fs::exists(path) || sha256_of_file(path) != *sha) all.push_back(trial);
  }
  return all;
}

}  // namespace hone
