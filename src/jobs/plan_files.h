// The files that choices of formats become: whole files, with header, graph, tokenizer and padding.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "allocate/candidates.h"
#include "jobs/format_study.h"
#include "jobs/scratch_folder.h"

namespace hone {

class PlanFiles {
 public:
  // `target`: "safetensors" or "onnx". `base`: everything but the choice. `compute` is stored in the file.
  PlanFiles(const FormatStudy& study, const Candidates& candidates, QuantizeOptions base,
            std::optional<Compute> compute, std::string target);

  QuantizeOptions plan(std::span<const int> chosen) const;  // as options of quantize

  // What a tensor in a format, or kPlain, takes of such a file, by the size of one that holds little else. Sums of
  // these are a file's size but for what tensors share, which differs from choice to choice by few bytes. Throws Error
  // when the file can't hold it.
  double cost(size_t tensor, int format) const;

  // The size of the file, weights rounded to the nearest: exact where it follows from formats alone, as in
  // .safetensors.
  int64_t bytes(std::span<const int> chosen);

  // The file that `hone quantize --config` makes of the choice, with what its method learns from all of the data.
  struct Written {
    std::string path;  // until the next one is written
    int64_t bytes = 0;
  };
  Written write(std::span<const int> chosen);

 private:
  std::string format_of(size_t tensor, int format) const;  // or "keep"
  int64_t bytes_of(const Graph& graph, const std::map<std::string, std::string>& carried) const;

  const FormatStudy& study_;
  const Candidates& candidates_;
  const QuantizeOptions base_;
  const std::optional<Compute> compute_;
  const std::string target_;
  const ScratchFolder folder_;
  std::map<std::vector<int>, int64_t> bytes_;
};

}  // namespace hone
