// Bytes as a journal: read, and worked with as far as they can be. An Error is a fine answer.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "base/error.h"
#include "study/python_json.h"
#include "study/samplers/make_sampler.h"
#include "study/study.h"

namespace hone {

// All that a storage says of its studies; nothing when it ends in an Error.
inline std::optional<std::string> told_by_journal(const std::string& path) {
  try {
    std::string text;
    const auto storage = open_storage("journal:" + path, {.read_only = true});
    for (const StudyRecord& study : storage->studies()) {
      text += fmt::format("{} {} {} {} {}\n", study.id, study.name, study.directions.size(),
                          python_json(study.user_attributes), python_json(study.system_attributes));
      for (const TrialPtr& t : *storage->trials(study.id)) {
        text += fmt::format("{} {} {} {} {}", t->id, t->number, to_string(t->state), t->started.value_or(-1),
                            t->ended.value_or(-1));
        for (const TrialParameter& p : t->parameters)
          text += fmt::format(" {}={} {}", p.name, p.value, p.distribution->json());
        for (double value : t->values) text += fmt::format(" {}", value);
        for (const auto& [step, value] : t->intermediate) text += fmt::format(" {}:{}", step, value);
        text += python_json(t->user_attributes) + python_json(t->system_attributes) + "\n";
      }
    }
    return text;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Lines that are read the short way, and the same ones with a space, which are not, mean the same. Returns whether the
// journal could be worked with.
inline bool exercise_journal(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
  std::string spaced;
  bool begins = true;
  for (char c : text) {
    spaced += c;
    if (begins && c == '{') spaced += ' ';
    begins = c == '\n';
  }
  const std::string other = path + ".spaced";
  std::ofstream(other, std::ios::binary) << spaced;
  const auto one = told_by_journal(path), two = told_by_journal(other);
  std::remove(other.c_str());
  CHECK(one == two, "{}\n--- with spaces:\n{}", one.value_or("error"), two.value_or("error"));
  bool worked = false;
  for (const char* sampler : {"tpe", "nsga2"}) {
    try {
      Study study(open_storage("journal:" + path), {}, make_sampler(sampler, 0));
      LiveTrial t = study.ask();
      t.suggest_real("x", 0, 1);
      t.suggest_category("c", {"a", nullptr});
      study.tell(t, {1.0});
      study.best();
      worked = true;
    } catch (const Error&) {
    }
  }
  return worked;
}

}  // namespace hone
