// The search of hone ship: formats, then what makes the promising ones lose less (rounding methods, mixed plans,
// training), in an order in which every moment has an answer. What can't be chosen any more by its size is not run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocate/measurements.h"
#include "ship/maker.h"
#include "ship/ship.h"
#include "ship/speed_meter.h"

namespace hone {

// When the search must end, so that what follows has its time.
class Deadline {
 public:
  explicit Deadline(double seconds);
  double left() const;  // below 0 when it is over
  double spent() const;
  void keep_free(double seconds) { kept_ += seconds; }  // of what is left, for later

 private:
  const int64_t start_;
  const double seconds_;
  double kept_ = 0;
};

struct SearchOptions {
  const ShipModelOptions& ship;
  const Model& model;
  const Maker& maker;
  const QualityMeter& meter;  // on the rows to choose on
  SpeedMeter& speed;
  std::vector<std::string> formats;
  std::string output;      // what kind of file it is for
  double run_seconds = 0;  // that measuring one candidate should take
};

class ShipSearch {
 public:
  ShipSearch(const SearchOptions& options, const Promises& promises, Measurements& known, const Deadline& deadline,
             const TaskContext& context);

  void run();
  void take(const Recipe& recipe);  // that one alone

  const std::vector<TriedCandidate>& tried() const { return tried_; }
  const std::vector<std::string>& untried() const { return untried_; }
  std::optional<size_t> chosen() const { return chosen_; }

 private:
  const TriedCandidate* consider(const Recipe& recipe, double expected_share = 1);
  void measure(TriedCandidate& candidate, const std::string& key);
  bool is_ruled_out(int64_t bytes) const;
  bool meets(const TriedCandidate& candidate) const;
  bool meets_quality(const TriedCandidate& candidate) const;
  bool is_preferred(const TriedCandidate& a, const TriedCandidate& b) const;
  void choose();
  void take_nearest();
  bool has_time(double seconds) const;
  double expected(const Recipe& recipe) const;

  void try_formats();
  void try_rounded_inputs();
  void try_other_compute();
  void try_methods();
  void try_mixed();
  void try_training();
  std::vector<Recipe> promising(size_t most) const;

  const SearchOptions o_;
  const Promises promises_;
  Measurements& known_;
  const Deadline& deadline_;
  const TaskContext& context_;
  std::vector<TriedCandidate> tried_;
  std::vector<std::string> untried_;
  std::optional<size_t> chosen_;
  std::map<std::string, double> seconds_;  // the longest that one of a kind took
  std::string compute_ = "f32";
};

// The size of the file that the graph becomes.
int64_t file_bytes(const std::string& output, const Graph& graph, const NamedFiles& files);

}  // namespace hone
