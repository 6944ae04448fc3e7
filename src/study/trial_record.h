// A trial as a study keeps it: what was tried, what came of it. Values, in Optuna's terms.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "study/distribution.h"

namespace hone {

enum class TrialState : uint8_t { running, complete, pruned, failed, waiting };  // numbers as in Optuna's journals
enum class Direction : uint8_t { not_set, minimize, maximize };
const char* to_string(TrialState state);     // "RUNNING": as Optuna's tables spell it
const char* to_string(Direction direction);  // "MINIMIZE"
std::optional<TrialState> parse_trial_state(std::string_view text);
std::optional<Direction> parse_direction(std::string_view text);  // in any case of letters
inline bool is_finished(TrialState s) { return s != TrialState::running && s != TrialState::waiting; }

struct TrialParameter {
  std::string name;
  double value = 0;  // inside (study/distribution.h)
  DistributionPtr distribution;
};

// As read from a file. Throws Error, `source` first, when the value is none of the distribution's choices.
TrialParameter stored_parameter(std::string name, double value, DistributionPtr distribution,
                                const std::string& source);

struct TrialRecord {
  int64_t id = -1;      // in its storage
  int64_t number = -1;  // in its study, from 0
  TrialState state = TrialState::running;
  std::vector<TrialParameter> parameters;                       // in the order in which they were asked for
  std::vector<double> values;                                   // of a complete one: one for each objective, no NaN
  std::vector<std::pair<int64_t, double>> intermediate;         // by step, ascending
  Json user_attributes = nullptr, system_attributes = nullptr;  // objects, or null while there are none
  std::optional<int64_t> started, ended;                        // microseconds since 1970, UTC

  const TrialParameter* find(std::string_view name) const;
  // By how much constraints are violated, summed; 0 is feasible. Both of Optuna's encodings are read.
  double violation() const;
  bool has_constraints() const;
};
using TrialPtr = std::shared_ptr<const TrialRecord>;
using TrialList = std::vector<TrialPtr>;  // by number

// What one transaction adds to a trial.
struct TrialChanges {
  std::vector<TrialParameter> parameters = {};
  std::vector<std::pair<std::string, Json>> user_attributes = {}, system_attributes = {};
  std::vector<std::pair<int64_t, double>> intermediate = {};
  std::optional<TrialState> state = {};
  std::vector<double> values = {};
  std::optional<int64_t> started = {}, ended = {};
  bool empty() const;
};
void apply_changes(TrialRecord& trial, const TrialChanges& changes);

void set_member(Json& object, const std::string& key, Json value);  // an object is made of null

// By which constraints are known that Trial.set_constraints wrote: read by Optuna 4, 5 and the dashboard.
inline constexpr const char* kConstraintsKey = "constraints";
inline constexpr const char* kFixedParametersKey = "fixed_params";

struct StudyRecord {
  int64_t id = -1;
  std::string name;
  std::vector<Direction> directions;
  Json user_attributes = nullptr, system_attributes = nullptr;
};

}  // namespace hone
