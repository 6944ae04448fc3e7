// Runs a lab: each command in its turn, what is drawn and said of them, one report with its figures as SVG and its
// tables as CSV beside it.
//
//   OUTPUT/report.html, KEY.csv, KEY.svg      what it shows
//   OUTPUT/steps/NAME.json                    a step: its command, the files that it read, what it printed
//
// A step that is done and whose files are the same is not run again, so a lab that was stopped goes on, and one that is
// done gives the same report.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "labs/lab.h"

namespace hone {

struct LabOptions {
  std::string lab;
  std::string files;  // the folder with those of all labs
  std::string data, output;
  bool quick = false;
  std::string command;  // that was typed
};

// What a command of hone ended with.
struct VerbOutput {
  std::string out, error;  // error: without "hone: "; empty where it ended well
};

struct LabContext {
  std::function<VerbOutput(const std::vector<std::string>& words)> run_verb;
  std::function<void(const std::string& next)> progress = {};
};

// The whole report; it is written, too. Throws Error for a lab that is unknown, data that are absent, and steps that
// fail.
Record run_lab(std::span<const LabDef* const> labs, const LabOptions& options, const LabContext& context);

// One screen of it: what to look at, the first table, where the report is.
Record screen_of(const Record& report, const std::string& output);

}  // namespace hone
