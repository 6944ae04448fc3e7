// A step of a lab and what is kept of it: run once, as long as its command and the files that it reads stay the same.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "labs/lab.h"
#include "labs/run_lab.h"

namespace hone {

// SHA-256 of files and folders, each looked at once.
class FileHashes {
 public:
  const std::string& of(const std::string& path);  // of a folder: of the names and contents of all in it

 private:
  std::map<std::string, std::string> known_;
};

// What a step left: its result, and what it took.
struct StepRecord {
  Json result;
  double seconds = 0;
  bool is_known = false;  // it was not run this time
};

StepRecord run_step(const LabStep& step, const LabPlaces& places, FileHashes& hashes, const LabContext& context);

}  // namespace hone
