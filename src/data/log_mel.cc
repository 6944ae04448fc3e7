#include "data/log_mel.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory_limit.h"
#include "base/threads.h"

namespace hone {
namespace {

constexpr double kTop = 8000;  // Hz

// Linear up to 1 kHz, then 27 steps for a factor of 6.4.
constexpr double kKink = 1000, kKinkMel = 15, kHertzPerMel = 200.0 / 3;
double step() { return std::log(6.4) / 27; }
double mel_of(double hertz) {
  return hertz < kKink ? hertz / kHertzPerMel : kKinkMel + std::log(hertz / kKink) / step();
}
double hertz_of(double mel) {
  return mel < kKinkMel ? mel * kHertzPerMel : kKink * std::exp(step() * (mel - kKinkMel));
}

// Powers of the frequencies 0 … window / 2 of real values. cos is even and sin odd around the middle, so values that
// lie as far before it as behind share a product.
class Spectrum {
 public:
  explicit Spectrum(int64_t window) : window_(static_cast<size_t>(window)), cosines_(window_), sines_(window_) {
    for (size_t i = 0; i < window_; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(window_);
      cosines_[i] = std::cos(angle), sines_[i] = std::sin(angle);
    }
  }

  void powers(std::span<const double> values, std::span<double> out) const {
    const size_t half = window_ / 2;
    std::vector<double> even(half), odd(half);
    for (size_t i = 1; i < half; ++i)
      even[i] = values[i] + values[window_ - i], odd[i] = values[i] - values[window_ - i];
    for (size_t k = 0; k <= half; ++k) {
      double real = values[0] + (k % 2 == 0 ? values[half] : -values[half]), imaginary = 0;
      for (size_t i = 1, at = k; i < half; ++i) {
        real += even[i] * cosines_[at], imaginary += odd[i] * sines_[at];
        at += k;
        if (at >= window_) at -= window_;
      }
      out[k] = real * real + imaginary * imaginary;
    }
  }

 private:
  size_t window_;
  std::vector<double> cosines_, sines_;
};

// The sample at any place, mirrored at both ends.
double sample_at(std::span<const float> samples, int64_t at) {
  const int64_t last = std::ssize(samples) - 1;
  if (at < 0) at = -at;
  if (at > last) at = 2 * last - at;
  return static_cast<double>(samples[static_cast<size_t>(at)]);
}

}  // namespace

std::vector<double> mel_filters(int64_t mels, int64_t window, int64_t rate) {
  const int64_t bins = window / 2 + 1;
  std::vector<double> corners;
  for (int64_t i = 0; i < mels + 2; ++i)
    corners.push_back(hertz_of(mel_of(kTop) * static_cast<double>(i) / static_cast<double>(mels + 1)));
  std::vector<double> filters;
  const double top = static_cast<double>(rate / 2);
  for (size_t m = 0; m < static_cast<size_t>(mels); ++m)
    for (int64_t bin = 0; bin < bins; ++bin) {
      const double hertz = top * static_cast<double>(bin) / static_cast<double>(bins - 1);
      const double rising = (hertz - corners[m]) / (corners[m + 1] - corners[m]);
      const double falling = (corners[m + 2] - hertz) / (corners[m + 2] - corners[m + 1]);
      filters.push_back(std::max(0.0, std::min(rising, falling)) * 2 / (corners[m + 2] - corners[m]));
    }
  return filters;
}

Tensor log_mel(std::span<const float> samples, int64_t mels, int64_t window, int64_t hop, int64_t rate) {
  CHECK(window % 2 == 0 && window <= std::ssize(samples) && hop > 0);
  const int64_t frames = std::ssize(samples) / hop, bins = window / 2 + 1;
  const std::vector<double> filters = mel_filters(mels, window, rate);
  const Spectrum spectrum(window);
  std::vector<double> hann;
  for (int64_t i = 0; i < window; ++i)
    hann.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(window)));
  const MemoryCharge charge(checked_mul(checked_mul(mels, frames), sizeof(double) + sizeof(float)), "a spectrum");
  std::vector<double> logs(static_cast<size_t>(mels * frames));
  parallel_for(frames, [&](int64_t frame) {
    std::vector<double> values(static_cast<size_t>(window)), powers(static_cast<size_t>(bins));
    for (size_t i = 0; i < hann.size(); ++i)
      values[i] = hann[i] * sample_at(samples, frame * hop + static_cast<int64_t>(i) - window / 2);
    const bool silent = std::ranges::all_of(values, [](double v) { return v == 0; });
    if (!silent) spectrum.powers(values, powers);
    for (int64_t m = 0; m < mels; ++m) {
      double power = 0;
      for (int64_t bin = 0; !silent && bin < bins; ++bin)
        power += filters[static_cast<size_t>(m * bins + bin)] * powers[static_cast<size_t>(bin)];
      logs[static_cast<size_t>(m * frames + frame)] = std::log10(std::max(power, 1e-10));
    }
  });
  const double least = *std::ranges::max_element(logs) - 8;
  for (double& value : logs) value = (std::max(value, least) + 4) / 4;
  return Tensor::from_doubles(DType::f32, {mels, frames}, logs);
}

}  // namespace hone
