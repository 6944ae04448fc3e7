#include "study/storages/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "base/error.h"
#include "study/python_json.h"
#include "study/storages/journal_file.h"
#include "study/storages/trial_cache.h"
#include "study/timestamp.h"

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

// A line whose values are not objects, taken apart without a parser of all of JSON: nearly every line of a journal is
// such, and one of many trials has millions. Values stay as they are written.
class FlatLine {
 public:
  bool parse(std::string_view text) {
    count_ = 0;
    if (!take(text, '{')) return false;
    for (;;) {
      if (count_ == entries_.size()) return false;
      Entry& entry = entries_[count_++];
      std::string_view key;
      if (!take_string(text, key) || key.find('\\') != key.npos || !take(text, ':') || !take_value(text, entry.value))
        return false;
      entry.key = key.substr(1, key.size() - 2);
      if (take(text, '}')) return text.empty();
      if (!take(text, ',')) return false;
    }
  }

  size_t size() const { return count_; }
  std::string_view value(std::string_view key) const {
    for (size_t i = 0; i < count_; ++i)
      if (entries_[i].key == key) return entries_[i].value;
    return {};
  }
  // A number or nothing, also where the key is not there.
  template <class T>
  std::optional<T> number(std::string_view key) const {
    return parse_number<T>(value(key));
  }
  template <class T>
  static std::optional<T> parse_number(std::string_view text) {
    T number{};
    // Not what from_chars takes and JSON does not: "inf", "01", "1.".
    const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
    if (digits.empty() || digits[0] < '0' || digits[0] > '9' || digits.ends_with('.') ||
        digits.find(".e") != text.npos ||
        (digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'))
      return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
  }
  // Without its quotes; nothing where it has escapes, other characters than ASCII's or is no text.
  std::optional<std::string_view> plain_text(std::string_view key) const {
    const std::string_view text = value(key);
    const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '\\'; };
    if (text.size() < 2 || text[0] != '"' || !std::ranges::all_of(text, plain)) return std::nullopt;
    return text.substr(1, text.size() - 2);
  }

 private:
  static bool take(std::string_view& text, char c) {
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
  }
  static bool take_string(std::string_view& text, std::string_view& whole) {
    if (!text.starts_with('"')) return false;
    for (size_t at = 1;; ++at) {
      at = text.find('"', at);
      if (at == text.npos) return false;
      size_t escapes = 0;
      while (text[at - 1 - escapes] == '\\') ++escapes;
      if (escapes % 2 == 1) continue;
      whole = text.substr(0, at + 1);
      text.remove_prefix(at + 1);
      return true;
    }
  }
  // A text, a word or number, or a list of those that are no texts.
  static bool take_value(std::string_view& text, std::string_view& value) {
    if (text.starts_with('"')) return take_string(text, value);
    const bool list = text.starts_with('[');
    size_t end = list ? 1 : 0;
    const auto ends = [&](char c) {
      return c == '"' || c == '{' || c == '[' || (list ? c == ']' : c == ',' || c == '}');
    };
    while (end < text.size() && !ends(text[end])) ++end;
    if (end == text.size() || end == 0 || (list && text[end] != ']')) return false;
    value = text.substr(0, end + (list ? 1 : 0));
    text.remove_prefix(value.size());
    return true;
  }

  struct Entry {
    std::string_view key, value;
  };
  std::array<Entry, 8> entries_;
  size_t count_ = 0;
};

// What the lines before have made: the journal replayed. Lines whose operation is not possible count for nothing, as
// in Optuna: of two workers that pop one trial, the second line is such.
class Replay {
 public:
  struct Kept {
    StudyRecord record;
    TrialCache trials;
    int64_t next_number = 0;
  };

  void apply_text(std::string_view text) {
    if (apply_flat(text)) return;
    const Json line = parse_python_json(text, "JSON");
    if (!line.is_object()) fail("is no object of a journal");
    apply(line);
  }

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

  // The lines that each trial has, in the form that hone and Optuna write them; false for all others.
  bool apply_flat(std::string_view text) {
    if (!flat_.parse(text) || !flat_.plain_text("worker_id")) return false;
    const auto operation = flat_.number<int>("op_code");
    if (operation == kCreateTrial) {
      const auto study = flat_.number<int64_t>("study_id");
      const auto started = flat_.plain_text("datetime_start");
      if (!study || !started || flat_.size() != 4) return false;
      add_trial(*study, {.started = parse_time(*started)});
      return true;
    }
    if (operation != kParameter && operation != kStateAndValues) return false;
    const auto id = flat_.number<int64_t>("trial_id");
    if (!id) return false;
    if (!open_study_of(*id)) return false;
    TrialChanges changes;
    if (operation == kParameter) {
      const auto name = flat_.plain_text("param_name");
      const auto value = flat_.number<double>("param_value_internal");
      const std::string_view distribution = flat_.value("distribution");
      if (!name || !value || !distribution.starts_with('"') || flat_.size() != 6) return false;
      changes.parameters.push_back(
          stored_parameter(std::string(*name), *value, distribution_of(distribution, *name), "journal"));
    } else {
      const auto state = flat_.number<int>("state");
      const auto ended = flat_.plain_text("datetime_complete");
      std::string_view values = flat_.value("values");
      // The state of one that begins is looked at more closely.
      if (!state || *state < 1 || *state > 3 || !ended || flat_.size() != 6 || values.size() < 3 || values[0] != '[')
        return false;
      changes.state = static_cast<TrialState>(*state);
      changes.ended = parse_time(*ended);
      values = values.substr(1, values.size() - 2);
      for (bool more = true; more;) {
        const size_t comma = values.find(',');
        const auto value = FlatLine::parse_number<double>(values.substr(0, comma));
        if (!value) return false;
        changes.values.push_back(*value);
        more = comma != values.npos;
        if (more) values.remove_prefix(comma + 1);
      }
    }
    change_trial(*id, changes);
    return true;
  }

  // Texts in a text: remembered as they are written, in the order in which trials have them.
  const DistributionPtr& distribution_of(std::string_view quoted, std::string_view name) {
    for (size_t tried = 0; tried < quoted_.size(); ++tried) {
      if (next_quoted_ >= quoted_.size()) next_quoted_ = 0;
      const auto& [text, known] = quoted_[next_quoted_++];
      if (text == quoted) return known;
    }
    const std::string text = parse_json(quoted, "distribution").get<std::string>();
    return quoted_.emplace_back(quoted, pool_.parse(text, name, "journal")).second;
  }

  void add_trial(int64_t id, TrialRecord trial) {
    const auto study = studies.find(id);
    if (study == studies.end()) return;
    trial.id = static_cast<int64_t>(trials.size());
    trial.number = study->second.next_number++;
    trials.emplace_back(id, trial.number);
    study->second.trials.put(std::move(trial));
  }

  // The trial's study while the trial can change; otherwise null.
  Kept* open_study_of(int64_t id) {
    if (id < 0 || id >= static_cast<int64_t>(trials.size())) return nullptr;
    const auto [study_id, number] = trials[static_cast<size_t>(id)];
    const auto study = studies.find(study_id);
    if (study == studies.end()) return nullptr;
    const TrialRecord* trial = study->second.trials.find(number, id);
    return trial && !is_finished(trial->state) ? &study->second : nullptr;
  }

  void change_trial(int64_t id, const TrialChanges& changes) {
    Kept* study = open_study_of(id);
    const int64_t number = study ? trials[static_cast<size_t>(id)].second : -1;
    if (!study ||
        (changes.state == TrialState::running && study->trials.find(number, id)->state == TrialState::running))
      return;
    study->trials.change(number, id, changes);
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
    TrialRecord trial;
    const auto state = line.contains("state") ? get<int64_t>(line, "state") : 0;
    if (state < 0 || state > 4) fail("unknown state {} of a trial", state);
    trial.state = static_cast<TrialState>(state);
    trial.started = time_of(line, "datetime_start");
    trial.ended = time_of(line, "datetime_complete");
    if (line.contains("params"))
      for (const auto& [name, value] : line.at("params").items())
        trial.parameters.push_back(stored_parameter(
            name, number_of(value),
            pool_.parse(get<std::string>(get<Json>(line, "distributions"), name.c_str()), name, "journal"), "journal"));
    if (line.contains("value") && !line.at("value").is_null()) trial.values = {number_of(line.at("value"))};
    if (line.contains("values") && line.at("values").is_array()) trial.values = numbers(line.at("values"));
    if (line.contains("intermediate_values"))
      for (const auto& [step, value] : line.at("intermediate_values").items())
        apply_changes(trial, {.intermediate = {{std::atoll(step.c_str()), number_of(value)}}});
    if (line.contains("user_attrs") && !line.at("user_attrs").empty()) trial.user_attributes = line.at("user_attrs");
    if (line.contains("system_attrs") && !line.at("system_attrs").empty())
      trial.system_attributes = line.at("system_attrs");
    add_trial(id, std::move(trial));
  }

  void change_trial(int operation, const Json& line) {
    const auto id = get<int64_t>(line, "trial_id");
    if (!open_study_of(id)) return;
    TrialChanges changes;
    switch (operation) {
      case kParameter: {
        const auto name = get<std::string>(line, "param_name");
        changes.parameters.push_back(
            stored_parameter(name, number_of(get<Json>(line, "param_value_internal")),
                             pool_.parse(get<std::string>(line, "distribution"), name, "journal"), "journal"));
        break;
      }
      case kStateAndValues: {
        const auto state = get<int64_t>(line, "state");
        if (state < 0 || state > 4) fail("unknown state {} of a trial", state);
        changes.state = static_cast<TrialState>(state);
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
    change_trial(id, changes);
  }

  static std::vector<double> numbers(const Json& list) {
    std::vector<double> values;
    for (const Json& value : list) values.push_back(number_of(value));
    return values;
  }

  DistributionPool pool_;
  FlatLine flat_;
  std::vector<std::pair<std::string, DistributionPtr>> quoted_;
  size_t next_quoted_ = 0;
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
    append(
        [&] {
          key.id = static_cast<int64_t>(replay_.trials.size());
          key.number = find(study).next_number;
          return std::vector{operation(kCreateTrial, fields_of(study, content))};
        },
        content.state != TrialState::running);
    return key;
  }

  std::optional<TrialRecord> pop_waiting(int64_t study) override {
    {
      const std::lock_guard lock(mutex_);
      sync();
      if (!find(study).trials.first_waiting()) return std::nullopt;
    }
    std::optional<TrialKey> key;
    append(
        [&] {
          const TrialRecord* waiting = find(study).trials.first_waiting();
          if (!waiting) return std::vector<Json>();
          key = TrialKey{study, waiting->id, waiting->number};
          return std::vector{operation(kStateAndValues, {{"trial_id", waiting->id},
                                                         {"state", static_cast<int>(TrialState::running)},
                                                         {"values", nullptr},
                                                         {"datetime_start", iso_time(now_us())}})};
        },
        false);
    if (!key) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return *find(study).trials.find(key->number, key->id);
  }

  void change(const TrialKey& key, const TrialChanges& changes) override {
    append(
        [&] {
          const TrialRecord* trial = find(key.study).trials.find(key.number, key.id);
          if (!trial) fail("{}: there is no trial {}", file_.path(), key.number);
          if (is_finished(trial->state))
            throw TrialEnded(fmt::format("{}: trial {} has finished ({}) and can't change", file_.path(), key.number,
                                         to_string(trial->state)));
          return lines_of(key.id, changes);
        },
        changes.state && is_finished(*changes.state));
  }

  std::shared_ptr<const TrialList> trials(int64_t study) override {
    const std::lock_guard lock(mutex_);
    sync();
    return find(study).trials.list();
  }

 private:
  void sync() {
    file_.read_new([&](std::string_view line) { replay_.apply_text(line); });
  }

  // The lines become part of what is known only when they are in the file.
  template <class Work>
  void append(Work&& work, bool flush = true) {
    const std::lock_guard lock(mutex_);
    std::vector<Json> lines;
    file_.append([&](std::string_view line) { replay_.apply_text(line); }, [&] { return lines = work(); }, flush);
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
