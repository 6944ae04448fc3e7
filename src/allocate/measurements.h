// Results of measurements, remembered in a file: a run that was stopped goes on where it was, and a changed choice
// measures only what it must.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace hone {

class Measurements {
 public:
  // `path` empty: in memory only. `about` says what was measured on what (model, data, settings) and is part of every
  // key. Lines that are not whole, damaged or of another version are skipped. Throws Error when the path holds
  // something else than measurements, which is left as it is, and when the file can't be written.
  explicit Measurements(std::string path = "", std::string about = "");

  // What was measured under this name, or what `measure()` gives now, which is then kept.
  template <size_t N, class F>
  std::array<double, N> get(const std::string& name, F&& measure) {
    std::array<double, N> values;
    if (find(name, values)) return values;
    values = measure();
    put(name, values);
    return values;
  }
  template <class F>
  double get(const std::string& name, F&& measure) {
    return get<1>(name, [&] { return std::array{static_cast<double>(measure())}; })[0];
  }

  int64_t recalled() const { return recalled_; }
  int64_t measured() const { return measured_; }

 private:
  std::string key(const std::string& name) const;
  bool find(const std::string& name, std::span<double> values);  // what is known as so many numbers
  void put(const std::string& name, std::span<const double> values);

  std::string path_, about_;
  std::map<std::string, std::vector<double>> values_;
  int64_t recalled_ = 0, measured_ = 0;
};

}  // namespace hone
