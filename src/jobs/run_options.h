// Groups of options that tasks share: what a model is run on, and how. A task's options derive from those it has, and
// its table joins theirs with its own.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/option_tables.h"
#include "jobs/default_inputs.h"
#include "runtime/session.h"

namespace hone {

// Values of open sizes.
struct ShapeFlags {
  int64_t batch = 1;
  std::optional<int64_t> seq;
  std::vector<std::string> dim;
  ShapeOptions shapes() const;
  static std::span<const OptionField<ShapeFlags>> fields();
};

// Inputs from files.
struct GivenFlags {
  std::vector<std::string> input;
  NamedTensors given() const;
  static std::span<const OptionField<GivenFlags>> fields();
};

struct TextFlags {
  std::vector<std::string> text;
  std::string text_file;
  std::vector<std::string> texts() const;  // empty when neither is given
  static std::span<const OptionField<TextFlags>> fields();
};

// Who runs the model.
struct DeviceFlags {
  std::string device, isa;
  bool no_fallback = false;
  std::shared_ptr<Device> asked_device() const;  // of --device, or of --isa; null where neither is given
  static std::span<const OptionField<DeviceFlags>> fields();
};

// How it is run.
struct RunFlags : DeviceFlags {
  std::string backend = "cpu", compute, cache;
  int64_t optimise = 2, threads = 1;
  std::vector<std::string> no_pass, print_after;
  bool verify = false, no_cache = false, trust_code = false, no_winograd = false, no_fusion = false;
  SessionOptions session_options() const;
  static std::span<const OptionField<RunFlags>> fields();          // all but the next two
  static std::span<const OptionField<RunFlags>> plan_fields();     // of these, what decides kernels
  static std::span<const OptionField<RunFlags>> trust_fields();    // for verbs that may run code from a model's file
  static std::span<const OptionField<RunFlags>> compute_fields();  // for verbs that choose what is multiplied
};

struct SeedFlags {
  uint64_t seed = 1;
  static std::span<const OptionField<SeedFlags>> fields();  // of made-up inputs and of the order of rounds
};

struct SecondsFlags {
  double seconds = 20;
  static std::span<const OptionField<SecondsFlags>> fields();  // the longest measured part
};

struct CheckFiniteFlags {
  bool check_finite = false;
  static std::span<const OptionField<CheckFiniteFlags>> fields();
};

// Of the measured parts of a run: above 0 and at most a day.
inline constexpr double kLeastSeconds = 1e-3, kMostSeconds = 86400;

// "name=value" pairs; throws Error on anything else or a repeated name.
std::map<std::string, std::string> parse_pairs(const std::vector<std::string>& items, const std::string& flag);

}  // namespace hone
