// The files of the best candidates of a study, kept up to date while it runs.
#pragma once

#include <string>
#include <vector>

#include "study/study.h"

namespace hone {

class BestModels {
 public:
  // `output`: the file of the best one; with `is_folder` a folder with one for each of the front, STUDY-N.safetensors.
  // Empty: none is kept.
  BestModels(std::string output, bool is_folder, std::string study);

  // What a trial that has just ended wrote: takes its place where it is among the best; others leave.
  void offer(Study& study, int64_t number, const std::string& file);
  // Of the best, those whose file is not there as it was written: of an earlier run, or of a trial that was known.
  std::vector<TrialPtr> missing(const Study& study) const;

  std::string path_of(int64_t number) const;
  bool keeps() const { return !output_.empty(); }

 private:
  Json saved(const Study& study) const;  // number → SHA-256
  const std::string output_;
  const bool is_folder_;
  const std::string study_;
};

}  // namespace hone
