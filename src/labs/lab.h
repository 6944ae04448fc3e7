// A lab of the course as data: which commands of hone it runs, and what is drawn and said of what they print. One
// engine (run_lab.h) runs all of them.
#pragma once

#include <string>
#include <vector>

#include "labs/lab_results.h"
#include "report/record.h"

namespace hone {

// Where a lab finds and puts things.
struct LabPlaces {
  std::string labs;    // TOML files: a folder for each lab, and one for the recipe of bert-tiny
  std::string lab;     // this one's folder there
  std::string data;    // what scripts/deps.sh labs fetches, and models that several labs share
  std::string output;  // everything else
  bool quick = false;  // two minutes instead of twenty: fewer points, trials and rows

  std::string file(const std::string& name) const { return labs + "/" + lab + "/" + name; }
  std::string recipe(const std::string& name) const { return labs + "/bert-tiny/" + name; }
  std::string all_reviews() const { return data + "/reviews.csv"; }
  std::string reviews() const { return quick ? shared("reviews") + ".csv" : all_reviews(); }
  std::string images() const { return data + "/fashion-mnist"; }
  std::string encoder() const { return data + "/all-MiniLM-L6-v2"; }
  std::string made(const std::string& name) const { return output + "/" + name; }
  std::string shared(const std::string& name) const { return data + "/made/" + name + (quick ? "-quick" : ""); }
};

// One command of hone. Files that its words name are what it depends on: where one of them has changed, the step is run
// again.
struct LabStep {
  std::string name = {};                // of its result
  std::string what = {};                // for people, while it runs
  std::vector<std::string> words = {};  // what is typed after `hone`
  std::vector<std::string> makes = {};  // files and folders that it writes; a stopped step finds them again
  bool prints_json = true;              // false: text
  bool must_fail = false;               // its error is the result
  bool is_shared = false;               // between labs: its result lies with the data
};

// What a lab shows: tables (the first is what the terminal has), figures, and sentences that say what to look at.
struct LabShown {
  std::vector<Section> sections = {};
  std::vector<std::string> sentences = {};  // five; each number in them stands in a table
};

struct LabDef {
  const char* name;                                            // as one types it: "1"
  const char* title;                                           // "Quantization and pruning"
  const char* files;                                           // its folder in examples/labs
  std::vector<std::string> (*reads)(const LabPlaces& places);  // data that must be there
  std::vector<LabStep> (*steps)(const LabPlaces& places);
  LabShown (*show)(const LabResults& results, const LabPlaces& places);
};

}  // namespace hone
