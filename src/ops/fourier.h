// The discrete Fourier transform of one line, by its definition.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace hone {

// sum over n of x[n] · exp(-2πi·k·n / length), k < bins; with the sign turned and divided by length when `inverse`.
// x is cut or padded with zeros to `length`.
class FourierTransform {
 public:
  FourierTransform(int64_t length, bool inverse);
  std::complex<double> bin(std::span<const std::complex<double>> x, int64_t k) const;

 private:
  std::vector<std::complex<double>> roots_;  // exp(∓2πi·j / length), j < length
  double scale_;
};

}  // namespace hone
