#include "search/storages/journal.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "base/error.h"
#include "search/python_json.h"
#include "search/storages/journal_file.h"
#include "search/storages/trial_cache.h"
#include "search/timestamp.h"

namespace hone {
namespace {

enum Operation : int {
  kCreateStudy,
  kDeleteStudy,
  kStudyUserAttribute,
  kStudySystemAttribute,
  kCreateTrial,
  kParameter,
  kStateAndValues,
  kIntermediate,
  kTrialUserAttribute,
  kTrialSystemAttribute,
  kDiscardTrials,  // rustuna's; Optuna passes over it, too
};

// A random name, in the form of a UUID of version 4.
std::string uuid() {
  std::random_device random;
  const uint32_t a = random(), b = random(), c = random(), d = random();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{:08x}", a, b >> 16, b & 0xfff, (c >> 16 & 0x3fff) | 0x8000,
                     c & 0xffff, d);
}

std::optional<int64_t> time_of(const Json& line, const char* key) {
  if (!line.contains(key) || !line.at(key).is_string()) return std::nullopt;
  return parse_time(line.at(key).get<std::string>());
}

Json member(const std::string& key, const Json& value) {
  Json object = Json::object();
  object[key] = value;
  return object;
}

double number_of(const Json& value) {
  if (!value.is_number()) fail("expected a number, found {}", json_excerpt(value));
  return value.get<double>();
}

// What the lines before have made: the journal replayed. Lines whose operation is not possible count for nothing, as
// in Optuna: of two workers that pop one trial, the second line is such.
class Replay {
 public:
  struct Kept {
    StudyRecord record;
    TrialCache trials;
    int64_t next_number = 0;
  };

  void apply(const Json& line) {
    const auto operation = get<int>(line, "op_code");
    switch (operation) {
      case kCreateStudy:
        create_study(line);
        return;
      case kDeleteStudy:
        studies.erase(get<int64_t>(line, "study_id"));
        return;
      case kStudyUserAttribute:
      case kStudySystemAttribute: {
        const auto study = studies.find(get<int64_t>(line, "study_id"));
        if (study == studies.end()) return;
        StudyRecord& record = study->second.record;
        Json& into = operation == kStudyUserAttribute ? record.user_attributes : record.system_attributes;
        const Json attribute = get<Json>(line, operation == kStudyUserAttribute ? "user_attr" : "system_attr");
        for (const auto& [key, value] : attribute.items()) set_member(into, key, value);
        return;
      }
      case kCreateTrial:
        create_trial(line);
        return;
      case kDiscardTrials:
        return;
      default:
        change_trial(operation, line);
    }
  }

  std::map<int64_t, Kept> studies;
  std::vector<std::pair<int64_t, int64_t>> trials;  // by id: study and number
  int64_t next_study = 0;

 private:
  template <class T>
  static T get(const Json& line, const char* key) {
    return json_get<T>(line, key, "journal");
  }

  void create_study(const Json& line) {
    const auto name = get<std::string>(line, "study_name");
    for (const auto& [id, study] : studies)
      if (study.record.name == name) return;
    StudyRecord record{.id = next_study++, .name = name};
    for (const int64_t d : get<std::vector<int64_t>>(line, "directions")) {
      if (d < 0 || d > 2) fail("study {} has the unknown direction {}", name, d);
      record.directions.push_back(static_cast<Direction>(d));
    }
    studies[record.id].record = std::move(record);
  }

  void create_trial(const Json& line) {
    const auto id = get<int64_t>(line, "study_id");
    const auto study = studies.find(id);
    if (study == studies.end()) return;
    TrialRecord trial{.id = static_cast<int64_t>(trials.size()), .number = study->second.next_number};
    const auto state = line.contains("state") ? get<int64_t>(line, "state") : 0;
    if (state < 0 || state > 4) fail("unknown state {} of a trial", state);
    trial.state = static_cast<TrialState>(state);
    trial.started = time_of(line, "datetime_start");
    trial.ended = time_of(line, "datetime_complete");
    if (line.contains("params"))
      for (const auto& [name, value] : line.at("params").items())
        trial.parameters.push_back(stored_parameter(
            name, number_of(value), pool_.parse(get<std::string>(get<Json>(line, "distributions"), name.c_str()), name),
            name));
    if (line.contains("value") && !line.at("value").is_null()) trial.values = {number_of(line.at("value"))};
    if (line.contains("values") && line.at("values").is_array()) trial.values = numbers(line.at("values"));
    if (line.contains("intermediate_values"))
      for (const auto& [step, value] : line.at("intermediate_values").items())
        apply_changes(trial, {.intermediate = {{std::atoll(step.c_str()), number_of(value)}}});
    if (line.contains("user_attrs") && !line.at("user_attrs").empty()) trial.user_attributes = line.at("user_attrs");
    if (line.contains("system_attrs") && !line.at("system_attrs").empty())
      trial.system_attributes = line.at("system_attrs");
    trials.emplace_back(id, study->second.next_number++);
    study->second.trials.put(std::move(trial));
  }

  void change_trial(int operation, const Json& line) {
    const auto id = get<int64_t>(line, "trial_id");
    if (id < 0 || id >= static_cast<int64_t>(trials.size())) return;
    const auto [study_id, number] = trials[static_cast<size_t>(id)];
    const auto study = studies.find(study_id);
    if (study == studies.end()) return;
    const TrialRecord* trial = study->second.trials.find(number, id);
    if (!trial || is_finished(trial->state)) return;
    TrialChanges changes;
    switch (operation) {
      case kParameter: {
        const auto name = get<std::string>(line, "param_name");
        changes.parameters.push_back(stored_parameter(name, number_of(get<Json>(line, "param_value_internal")),
                                                      pool_.parse(get<std::string>(line, "distribution"), name), name));
        break;
      }
      case kStateAndValues: {
        const auto state = get<int64_t>(line, "state");
        if (state < 0 || state > 4) fail("unknown state {} of a trial", state);
        changes.state = static_cast<TrialState>(state);
        if (changes.state == TrialState::running && trial->state == TrialState::running) return;
        changes.started = time_of(line, "datetime_start");
        changes.ended = time_of(line, "datetime_complete");
        if (line.contains("values") && line.at("values").is_array()) changes.values = numbers(line.at("values"));
        break;
      }
      case kIntermediate:
        changes.intermediate.emplace_back(get<int64_t>(line, "step"), number_of(get<Json>(line, "intermediate_value")));
        break;
      case kTrialUserAttribute:
      case kTrialSystemAttribute: {
        const bool user = operation == kTrialUserAttribute;
        const Json attribute = get<Json>(line, user ? "user_attr" : "system_attr");
        for (const auto& [key, value] : attribute.items())
          (user ? changes.user_attributes : changes.system_attributes).emplace_back(key, value);
        break;
      }
      default:
        fail("unknown operation {}; a newer program may have written it", operation);
    }
    study->second.trials.change(number, id, changes);
  }

  static std::vector<double> numbers(const Json& list) {
    std::vector<double> values;
    for (const Json& value : list) values.push_back(number_of(value));
    return values;
  }

  DistributionPool pool_;
};

class JournalStorage : public Storage {
 public:
  JournalStorage(const std::string& path, const StorageOptions& options)
      : file_(path, options),
        worker_(fmt::format("{}-{}", uuid(), std::hash<std::thread::id>()(std::this_thread::get_id()))) {
    sync();
  }

  std::string name() const override { return file_.path(); }

  std::vector<StudyRecord> studies() override {
    const std::lock_guard lock(mutex_);
    sync();
    std::vector<StudyRecord> all;
    for (const auto& [id, study] : replay_.studies) all.push_back(study.record);
    return all;
  }

  int64_t create_study(const std::string& name, std::span<const Direction> directions) override {
    Json list = Json::array();
    for (Direction d : directions) list.push_back(static_cast<int>(d));
    append([&] {
      for (const auto& [id, study] : replay_.studies)
        if (study.record.name == name) fail("{}: there is a study \"{}\" already", file_.path(), name);
      return std::vector{operation(kCreateStudy, {{"study_name", name}, {"directions", list}})};
    });
    return replay_.next_study - 1;
  }

  void delete_study(int64_t study) override {
    append([&] {
      find(study);
      return std::vector{operation(kDeleteStudy, {{"study_id", study}})};
    });
  }

  void set_study_attribute(int64_t study, StudyAttribute kind, const std::string& key, const Json& value) override {
    const bool user = kind == StudyAttribute::user;
    append([&] {
      find(study);
      return std::vector{operation(user ? kStudyUserAttribute : kStudySystemAttribute,
                                   {{"study_id", study}, {user ? "user_attr" : "system_attr", member(key, value)}})};
    });
  }

  TrialKey create_trial(int64_t study, const TrialRecord& content) override {
    TrialKey key{study, -1, -1};
    append([&] {
      key.id = static_cast<int64_t>(replay_.trials.size());
      key.number = find(study).next_number;
      return std::vector{operation(kCreateTrial, fields_of(study, content))};
    });
    return key;
  }

  std::optional<TrialRecord> pop_waiting(int64_t study) override {
    {
      const std::lock_guard lock(mutex_);
      sync();
      if (!find(study).trials.first_waiting()) return std::nullopt;
    }
    std::optional<TrialKey> key;
    append([&] {
      const TrialRecord* waiting = find(study).trials.first_waiting();
      if (!waiting) return std::vector<Json>();
      key = TrialKey{study, waiting->id, waiting->number};
      return std::vector{operation(kStateAndValues, {{"trial_id", waiting->id},
                                                     {"state", static_cast<int>(TrialState::running)},
                                                     {"values", nullptr},
                                                     {"datetime_start", iso_time(now_us())}})};
    });
    if (!key) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return *find(study).trials.find(key->number, key->id);
  }

  void change(const TrialKey& key, const TrialChanges& changes) override {
    append([&] {
      const TrialRecord* trial = find(key.study).trials.find(key.number, key.id);
      if (!trial) fail("{}: there is no trial {}", file_.path(), key.number);
      if (is_finished(trial->state))
        fail("{}: trial {} has finished ({}) and can't change", file_.path(), key.number, to_string(trial->state));
      return lines_of(key.id, changes);
    });
  }

  std::shared_ptr<const TrialList> trials(int64_t study) override {
    const std::lock_guard lock(mutex_);
    sync();
    return find(study).trials.list();
  }

 private:
  void sync() {
    file_.read_new([&](const Json& line) { replay_.apply(line); });
  }

  // The lines become part of what is known only when they are in the file.
  template <class Work>
  void append(Work&& work) {
    const std::lock_guard lock(mutex_);
    std::vector<Json> lines;
    file_.append([&](const Json& line) { replay_.apply(line); }, [&] { return lines = work(); });
    for (const Json& line : lines) replay_.apply(line);
  }

  Replay::Kept& find(int64_t study) {
    const auto at = replay_.studies.find(study);
    if (at == replay_.studies.end()) fail("{}: there is no study {}; was it deleted?", file_.path(), study);
    return at->second;
  }

  Json operation(Operation code, const Json& fields) const {
    Json line{{"op_code", static_cast<int>(code)}, {"worker_id", worker_}};
    for (const auto& [key, value] : fields.items()) line[key] = value;
    return line;
  }

  static Json fields_of(int64_t study, const TrialRecord& content) {
    const auto time = [](std::optional<int64_t> us) { return us ? Json(iso_time(*us)) : Json(nullptr); };
    Json fields{{"study_id", study}, {"datetime_start", time(content.started)}};
    const bool plain = content.state == TrialState::running && content.parameters.empty() &&
                       content.user_attributes.is_null() && content.system_attributes.is_null();
    if (plain) return fields;
    fields["state"] = static_cast<int>(content.state);
    fields["value"] = content.values.size() == 1 ? Json(content.values[0]) : Json(nullptr);
    fields["values"] = content.values.size() > 1 ? Json(content.values) : Json(nullptr);
    if (content.ended) fields["datetime_complete"] = time(content.ended);
    Json distributions = Json::object(), parameters = Json::object(), intermediate = Json::object();
    for (const TrialParameter& p : content.parameters) {
      distributions[p.name] = p.distribution->json();
      parameters[p.name] = p.value;
    }
    for (const auto& [step, value] : content.intermediate) intermediate[std::to_string(step)] = value;
    fields["distributions"] = distributions;
    fields["params"] = parameters;
    fields["user_attrs"] = content.user_attributes.is_null() ? Json::object() : content.user_attributes;
    fields["system_attrs"] = content.system_attributes.is_null() ? Json::object() : content.system_attributes;
    fields["intermediate_values"] = intermediate;
    return fields;
  }

  std::vector<Json> lines_of(int64_t id, const TrialChanges& changes) const {
    std::vector<Json> lines;
    for (const TrialParameter& p : changes.parameters)
      lines.push_back(operation(kParameter, {{"trial_id", id},
                                             {"param_name", p.name},
                                             {"param_value_internal", p.value},
                                             {"distribution", p.distribution->json()}}));
    for (const auto& [key, value] : changes.user_attributes)
      lines.push_back(operation(kTrialUserAttribute, {{"trial_id", id}, {"user_attr", member(key, value)}}));
    for (const auto& [key, value] : changes.system_attributes)
      lines.push_back(operation(kTrialSystemAttribute, {{"trial_id", id}, {"system_attr", member(key, value)}}));
    for (const auto& [step, value] : changes.intermediate)
      lines.push_back(operation(kIntermediate, {{"trial_id", id}, {"step", step}, {"intermediate_value", value}}));
    if (changes.state || !changes.values.empty()) {
      Json fields{{"trial_id", id},
                  {"state", static_cast<int>(changes.state.value_or(TrialState::running))},
                  {"values", changes.values.empty() ? Json(nullptr) : Json(changes.values)}};
      if (changes.started) fields["datetime_start"] = iso_time(*changes.started);
      if (changes.ended) fields["datetime_complete"] = iso_time(*changes.ended);
      lines.push_back(operation(kStateAndValues, fields));
    }
    return lines;
  }

  std::mutex mutex_;
  JournalFile file_;
  std::string worker_;
  Replay replay_;
};

}  // namespace

std::shared_ptr<Storage> journal_storage(const std::string& path, const StorageOptions& options) {
  return std::make_shared<JournalStorage>(path, options);
}

}  // namespace hone
