// Studies of searches, of hone or Optuna: what was tried, and what came of it.
#pragma once

#include <hone/task.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hone::HONE_API_INLINE api {

// One trial.
struct StudyTrial {
  int64_t number = -1;                            // in its study, from 0
  std::string state;                              // as Optuna spells it: "COMPLETE", "PRUNED", "FAIL", …
  std::map<std::string, std::string> parameters;  // as people read them: "0.001", "mxint4"
  std::vector<double> values;                     // of a complete one: one for each objective
  std::map<std::string, double> figures;          // what a search of hone's measured of it: bytes, bits, accuracy, …
};

// One study, as far as it has come.
struct Study {
  std::string name;
  std::vector<std::string> objectives;  // their names
  std::vector<std::string> directions;  // of each: "MINIMIZE" or "MAXIMIZE"
  std::vector<StudyTrial> trials;       // by number
  std::vector<int64_t> best;            // numbers of the best, or of the front of several objectives
  std::vector<std::string> notes;       // of a search: what one should know, in sentences
};

// Names of the studies in a storage: a SQLite file (study.db), a journal (study.log), or what else hone search takes.
HONE_API std::vector<std::string> list_studies(const std::string& storage);

// The one of that name; where there is one only, none is needed. Throws Error where it is not there.
HONE_API Study open_study(const std::string& storage, const std::string& name = {});

// Throws Error where it is not there.
HONE_API void delete_study(const std::string& storage, const std::string& name);

}  // namespace hone::HONE_API_INLINEapi
