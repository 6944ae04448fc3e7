// dft and stft: the discrete Fourier transform by its definition. The last dimension holds the real part, or the real
// and the imaginary part.
#include <complex>
#include <numbers>

#include "base/memory_limit.h"
#include "base/threads.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

using Complex = std::complex<double>;
using Line = std::vector<Complex>;

struct Term {
  int64_t place;
  Complex value;
};

// What of a line is not 0: most of it is where x was padded, or is one of the signals that a matrix is made of.
std::vector<Term> terms_of(const Line& x) {
  std::vector<Term> terms;
  for (size_t n = 0; n < x.size(); ++n)
    if (x[n] != 0.0) terms.push_back({static_cast<int64_t>(n), x[n]});
  return terms;
}

constexpr int64_t kLongest = int64_t{1} << 31;  // squares of positions fit into an int64_t

constexpr AttributeSpec kDftAttributes[] = {
    {"axis", AttributeKind::shape, false,
     "one value: the axis that is transformed, not the last; or operand 2; default -2"},
    {"length", AttributeKind::shape, false,
     "one value N: x is cut or padded with zeros to it; or operand 1; default: as the axis"},
    {"inverse", AttributeKind::integer, false, "1: the inverse, divided by N; default 0"},
    {"onesided", AttributeKind::integer, false,
     "1: N/2+1 bins of real x; of the inverse: real results from such bins, by default N = 2 * (bins - 1); default 0"},
};
constexpr AttributeSpec kStftAttributes[] = {
    {"step", AttributeKind::shape, false, "one value: from frame to frame; or operand 2"},
    {"length", AttributeKind::shape, false,
     "one value: of a frame; or operand 3; default: the window's or the signal's"},
    {"onesided", AttributeKind::integer, false, "1 (default): length/2+1 bins of a real signal; 0: all"},
};

// sum over n of x[n] · exp(∓2πi·k·n / N), divided by N for the inverse, N = length.
class Transform {
 public:
  Transform(int64_t length, bool inverse) : scale_(inverse ? 1 / static_cast<double>(length) : 1) {
    checked_range(length, 0, kLongest, "the length of a transform");
    require_memory(length * static_cast<int64_t>(sizeof(Complex)), "the roots of a Fourier transform");
    roots_.reserve(static_cast<size_t>(length));
    for (int64_t j = 0; j < length; ++j) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(length);
      roots_.push_back(std::polar(1.0, inverse ? angle : -angle));
    }
  }

  Complex bin(const std::vector<Term>& x, int64_t k) const {
    check_stop();
    Complex sum = 0;
    for (const Term& term : x) sum += term.value * roots_[static_cast<size_t>(k * term.place % std::ssize(roots_))];
    return sum * scale_;
  }

 private:
  std::vector<Complex> roots_;
  double scale_;
};

// Elements of a tensor whose last dimension holds parts.
Line complex_values(const Tensor& tensor) {
  const std::vector<double> parts = tensor.to_doubles();
  const auto each = static_cast<size_t>(tensor.dim(-1));
  Line values;
  for (size_t i = 0; i < parts.size(); i += each) values.emplace_back(parts[i], each == 2 ? parts[i + 1] : 0);
  return values;
}

// `parts` 1 keeps the real ones.
Tensor parts_of(const Line& values, const TensorType& type) {
  const bool real = type.shape.back() == Dim(1);
  std::vector<double> parts;
  for (const Complex& value : values) {
    parts.push_back(value.real());
    if (!real) parts.push_back(value.imag());
  }
  return Tensor::from_doubles(type.dtype, sizes_of(type), parts);
}

void expect_parts(const TensorType& x, const char* what) {
  expect_float(x, what);
  const Dim& parts = x.shape.back();
  if (parts.is_constant() && parts.constant() != 1 && parts.constant() != 2)
    fail("the last dimension of {} is {}; accepted: 1 (real) or 2 (real and imaginary part)", what, parts.constant());
}

bool flag(const Attributes& attributes, const char* name, int64_t fallback = 0) {
  return attributes.get_or<int64_t>(name, fallback) != 0;
}

bool is_given(const InferArgs& a, size_t operand, const char* attribute) {
  return a.has(operand) || a.attributes.has(attribute);
}

size_t signal_axis(int64_t axis, size_t rank) {
  const size_t checked = checked_axis(axis, rank);
  if (checked + 1 == rank) fail("axis {} holds real and imaginary parts; accepted: the axes before it", axis);
  return checked;
}

std::vector<TensorType> infer_dft(const InferArgs& a) {
  const TensorType& x = a[0];
  if (x.rank() < 2)
    fail("x is {}; accepted: at least 2 dimensions, the last of real and imaginary parts", to_string(x));
  expect_parts(x, "x");
  const bool inverse = flag(a.attributes, "inverse"), onesided = flag(a.attributes, "onesided");
  if (onesided)
    expect_dim(x.shape.back(), inverse ? 2 : 1,
               inverse ? "the parts of x, a onesided spectrum," : "the parts of x, onesided,");
  Shape shape = x.shape;
  shape.back() = onesided && inverse ? 1 : 2;
  const Dim axis = is_given(a, 2, "axis") ? dim_argument(a, 2, "axis", INT64_MIN) : -2;
  if (!axis.is_constant()) {
    std::fill(shape.begin(), shape.end() - 1, Dim::unknown());
    return {plain_type(x.dtype, shape)};
  }
  Dim& extent = shape[signal_axis(axis.constant(), x.rank())];
  const Dim length = is_given(a, 1, "length") ? dim_argument(a, 1, "length")
                     : onesided && inverse    ? 2 * (extent - 1)
                                              : extent;
  extent = onesided && !inverse ? floordiv(length, 2) + 1 : length;
  return {plain_type(x.dtype, shape)};
}

// Bins above N/2 of the spectrum of a real signal are the conjugates of those below.
void complete_spectrum(Line& bins, int64_t length) {
  bins.resize(static_cast<size_t>(length / 2 + 1));
  bins.resize(static_cast<size_t>(length));
  for (int64_t k = length / 2 + 1; k < length; ++k)
    bins[static_cast<size_t>(k)] = std::conj(bins[static_cast<size_t>(length - k)]);
}

std::vector<Tensor> eval_dft(const EvalArgs& a) {
  const bool inverse = flag(a.attributes, "inverse"), mirrored = inverse && flag(a.attributes, "onesided");
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const bool axis_given = a.has(2) || a.attributes.has("axis");
  const size_t axis = signal_axis(axis_given ? integers_argument(a, 2, "axis").front() : -2, sizes.size());
  const std::span<const int64_t> signal(a[0].shape().data(), sizes.size() - 1), result(sizes.data(), sizes.size() - 1);
  const AxisView from = around_axis(signal, axis), to = around_axis(result, axis);
  int64_t length = mirrored ? to.length : from.length;
  if (a.has(1) || a.attributes.has("length")) length = integers_argument(a, 1, "length").front();
  const Transform transform(length, inverse);
  const Line x = complex_values(a[0]);
  Line y(static_cast<size_t>(to.outer * to.length * to.inner));
  parallel_for(from.outer * from.inner, [&](int64_t line) {
    const int64_t outer = line / from.inner, inner = line % from.inner;
    Line values;
    for (int64_t i = 0; i < std::min(length, from.length); ++i)
      values.push_back(x[static_cast<size_t>((outer * from.length + i) * from.inner + inner)]);
    if (mirrored) complete_spectrum(values, length);
    const std::vector<Term> terms = terms_of(values);
    for (int64_t k = 0; k < to.length; ++k)
      y[static_cast<size_t>((outer * to.length + k) * to.inner + inner)] = transform.bin(terms, k);
  });
  return {parts_of(y, a.results[0])};
}

std::vector<TensorType> infer_stft(const InferArgs& a) {
  expect_rank(a[0], 3, 3, "the signal [B,L,1 or 2]");
  expect_parts(a[0], "the signal");
  const Shape& signal = a[0].shape;
  if (a.has(1)) {
    expect_float(a[1], "the window");
    expect_rank(a[1], 1, 1, "the window");
  }
  const bool onesided = flag(a.attributes, "onesided", 1);
  if (onesided) expect_dim(signal[2], 1, "the parts of the signal, onesided,");
  const Dim step = dim_argument(a, 2, "step");
  const Dim length = is_given(a, 3, "length") ? dim_argument(a, 3, "length") : a.has(1) ? a[1].shape[0] : signal[1];
  if (a.has(1)) expect_dim(a[1].shape[0], length, "the length of the window, that of a frame,");
  if ((signal[1] - length).is_constant() && (signal[1] - length).constant() < 0)
    fail("a frame has {} elements, the signal {}", length.to_string(), signal[1].to_string());
  const Dim frames = step.is_constant() ? floordiv(signal[1] - length, step) + 1 : Dim::unknown();
  return {plain_type(a[0].dtype, {signal[0], frames, onesided ? floordiv(length, 2) + 1 : length, 2})};
}

std::vector<Tensor> eval_stft(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const int64_t signal = a[0].dim(1), frames = sizes[1], bins = sizes[2];
  const int64_t step = integers_argument(a, 2, "step").front();
  const std::vector<double> window = a.has(1) ? a[1].to_doubles() : std::vector<double>();
  const int64_t length = a.has(3) || a.attributes.has("length") ? integers_argument(a, 3, "length").front()
                         : a.has(1)                             ? std::ssize(window)
                                                                : signal;
  const Transform transform(length, false);
  const Line x = complex_values(a[0]);
  Line y(static_cast<size_t>(sizes[0] * frames * bins));
  parallel_for(sizes[0] * frames, [&](int64_t frame) {
    Line values;
    for (int64_t i = 0; i < length; ++i)
      values.push_back(x[static_cast<size_t>(frame / frames * signal + frame % frames * step + i)] *
                       (a.has(1) ? window[static_cast<size_t>(i)] : 1.0));
    const std::vector<Term> terms = terms_of(values);
    for (int64_t k = 0; k < bins; ++k) y[static_cast<size_t>(frame * bins + k)] = transform.bin(terms, k);
  });
  return {parts_of(y, a.results[0])};
}

}  // namespace

extern constinit const OpDef dft_def{
    .name = "dft",
    .doc =
        "y[k] = sum over n of x[n] exp(-2πi·k·n/N) along an axis of x[...,1 or 2], whose last dimension holds real and "
        "imaginary parts; the inverse has exp(+...) and divides by N. Operands 1 and 2 are the length N and the axis "
        "where they are computed.",
    .operands = {"x", computed("computed_length"), computed("computed_axis")},
    .attributes = kDftAttributes,
    .infer = infer_dft,
    .eval = eval_dft,
    .no_gradient = "no rule is written for transforms to complex pairs"};
extern constinit const OpDef stft_def{
    .name = "stft",
    .doc =
        "The dft of each frame of signal[B,L,1 or 2], times window[length]?: [B,(L-length)/step+1,bins,2]. Operands 2 "
        "and 3 are step and length where they are computed.",
    .operands = {"signal", optional("window"), computed("computed_step"), computed("computed_length")},
    .attributes = kStftAttributes,
    .infer = infer_stft,
    .eval = eval_stft,
    .no_gradient = "no rule is written for transforms to complex pairs"};

}  // namespace hone
