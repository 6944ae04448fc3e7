// The .npy half of numpy.h: a magic string, a Python dictionary literal, the elements.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/atomic_file.h"
#include "base/error.h"
#include "io/numpy.h"

namespace hone {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostDimensions = 64;  // as in NumPy
constexpr const char* kAccepted = "b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8";

struct Code {
  std::string_view text;
  DType dtype;
};
constexpr std::array<Code, 12> kCodes{{{"b1", DType::boolean},
                                       {"i1", DType::i8},
                                       {"i2", DType::i16},
                                       {"i4", DType::i32},
                                       {"i8", DType::i64},
                                       {"u1", DType::u8},
                                       {"u2", DType::u16},
                                       {"u4", DType::u32},
                                       {"u8", DType::u64},
                                       {"f2", DType::f16},
                                       {"f4", DType::f32},
                                       {"f8", DType::f64}}};

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Reads the literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } and nothing else of Python.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      bool* seen = key == "descr" ? &descr : key == "fortran_order" ? &order : key == "shape" ? &shape : nullptr;
      if (!seen) wrong(fmt::format("unknown key '{}'", key));
      if (*seen) wrong(fmt::format("key '{}' appears twice", key));
      *seen = true;
      if (seen == &descr) header.descr = element_type();
      if (seen == &order) header.fortran_order = boolean();
      if (seen == &shape) header.shape = tuple();
      if (!accept(',') && peek() != '}') wrong("expected , or }");
    }
    if (peek() != 0) wrong("text behind the dictionary");
    if (!descr || !order || !shape) wrong("one of the keys descr, fortran_order, shape is missing");
    return header;
  }

 private:
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) wrong(fmt::format("expected {}", c));
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') wrong("expected a quoted text");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) wrong("a quoted text does not end");
    const std::string inside(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return inside;
  }
  std::string element_type() {
    if (peek() == '[')
      fail("{}: a structured array; accepted element types: {}. Save each field as an array of its own", source_,
           kAccepted);
    return quoted();
  }
  bool boolean() {
    peek();
    for (bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    wrong("expected True or False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(integer());
      if (sizes.size() > kMostDimensions) wrong(fmt::format("more than {} dimensions", kMostDimensions));
      if (!accept(',') && peek() != ')') wrong("expected , or )");
    }
    return sizes;
  }
  int64_t integer() {
    if (peek() < '0' || peek() > '9') wrong("expected a size that is at least 0");
    int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value))
        wrong("a size is too large");
    return value;
  }
  [[noreturn]] void wrong(const std::string& what) const {
    fail(
        "{}: NumPy header: {} at its character {}; expected e.g. {{'descr': '<f4', 'fortran_order': False, 'shape': "
        "(3, 4), }}",
        source_, what, at_);
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0;
};

struct Element {
  DType dtype;
  bool swapped;  // big-endian in the file
};

Element element_of(const std::string& descr, const std::string& source) {
  const char order = descr.empty() ? '\0' : descr[0];
  const bool has_order = order == '<' || order == '>' || order == '|' || order == '=';
  const std::string_view code = std::string_view(descr).substr(has_order ? 1 : 0);
  for (const Code& known : kCodes)
    if (known.text == code) return {known.dtype, order == '>'};
  if (code.starts_with('O'))
    fail("{}: an array of Python objects, which only a pickle can hold; save numbers (x.astype('float32'))", source);
  fail("{}: element type '{}' is not supported; supported: {}. Convert it with x.astype('float32')", source, descr,
       kAccepted);
}

void reverse_bytes(std::span<std::byte> data, size_t width) {
  for (size_t i = 0; i + width <= data.size(); i += width) std::reverse(data.begin() + i, data.begin() + i + width);
}

// Element (i0, i1, ..) of a Fortran-ordered array is at i0 + n0 (i1 + n1 (..)).
void from_fortran_order(std::span<const std::byte> src, const std::vector<int64_t>& shape, size_t width,
                        std::span<std::byte> dst) {
  if (dst.empty()) return;  // then the strides of the other sizes may be more than an int64_t holds
  std::vector<int64_t> index(shape.size(), 0), stride(shape.size(), 1);
  for (size_t a = 1; a < shape.size(); ++a) stride[a] = stride[a - 1] * shape[a - 1];
  int64_t at = 0;
  for (size_t out = 0; out < dst.size(); out += width) {
    std::memcpy(dst.data() + out, src.data() + static_cast<size_t>(at) * width, width);
    for (size_t a = shape.size(); a-- > 0;) {
      at += stride[a];
      if (++index[a] < shape[a]) break;
      at -= stride[a] * shape[a];
      index[a] = 0;
    }
  }
}

struct Parts {
  std::string_view header, data;
};

Parts split_parts(std::string_view bytes, const std::string& source) {
  if (bytes.size() < 10 || bytes.substr(0, kMagic.size()) != kMagic)
    fail("{}: not a .npy file: it does not start with \\x93NUMPY and a version", source);
  const auto byte_at = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])); };
  const uint32_t major = byte_at(6), minor = byte_at(7);
  if (major < 1 || major > 3 || minor != 0)
    fail("{}: .npy version {}.{}; versions 1.0, 2.0 and 3.0 are accepted", source, major, minor);
  const size_t start = major == 1 ? 10 : 12;
  if (bytes.size() < start) fail("{}: the .npy header is truncated", source);
  const size_t length = byte_at(8) | byte_at(9) << 8 | (major == 1 ? 0 : byte_at(10) << 16 | byte_at(11) << 24);
  if (length > bytes.size() - start)
    fail("{}: says that its header has {} bytes, but only {} follow; the file may be truncated", source, length,
         bytes.size() - start);
  return {bytes.substr(start, length), bytes.substr(start + length)};
}

std::string_view code_of(const Tensor& tensor, const std::string& what) {
  if (tensor.is_packed()) fail("{}: a packed tensor can't be written as .npy; unpack it first", what);
  for (const Code& known : kCodes)
    if (known.dtype == tensor.dtype()) return known.text;
  fail("{}: NumPy has no element type for {}; convert it to f32 first", what, to_string(tensor.dtype()));
}

}  // namespace

Tensor parse_npy(std::string_view bytes, const std::string& source) {
  const Parts parts = split_parts(bytes, source);
  Header header = HeaderParser(parts.header, source).parse();
  const Element element = element_of(header.descr, source);
  const size_t width = static_cast<size_t>(size_bytes(element.dtype));
  size_t expected = width;
  for (int64_t n : header.shape)
    if (__builtin_mul_overflow(expected, static_cast<size_t>(n), &expected))
      fail("{}: shape ({}) overflows 64 bits", source, fmt::join(header.shape, ", "));
  if (parts.data.size() != expected)
    fail("{}: shape ({}) of '{}' takes {} bytes, but {} follow the header", source, fmt::join(header.shape, ", "),
         header.descr, expected, parts.data.size());
  const auto data = std::as_bytes(std::span(parts.data));
  if (element.dtype == DType::boolean &&
      !std::all_of(parts.data.begin(), parts.data.end(), [](char c) { return c == 0 || c == 1; }))
    fail("{}: a boolean that is neither 0 nor 1", source);
  Buffer buffer(expected);
  if (header.fortran_order) from_fortran_order(data, header.shape, width, buffer.mutable_bytes());
  else std::copy(data.begin(), data.end(), buffer.mutable_bytes().begin());
  if (element.swapped) reverse_bytes(buffer.mutable_bytes(), width);
  return Tensor(element.dtype, std::move(header.shape), std::move(buffer));
}

Tensor read_npy(const std::string& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return parse_npy({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

std::string npy_bytes(const Tensor& tensor, const std::string& what) {
  const std::string_view code = code_of(tensor, what);
  const char order = size_bytes(tensor.dtype()) == 1 ? '|' : '<';
  std::string sizes;
  for (int64_t n : tensor.shape()) sizes += fmt::format("{}, ", n);
  if (tensor.shape().size() > 1) sizes.resize(sizes.size() - 2);
  if (tensor.shape().size() == 1) sizes.pop_back();  // "(3,)"
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, code, sizes);
  constexpr size_t kPrefix = 10, kAlignment = 64;  // the elements start at a multiple of 64 bytes
  header.append(kAlignment - 1 - (kPrefix + header.size()) % kAlignment, ' ');
  header += '\n';
  if (header.size() > UINT16_MAX)
    fail("{}: an array of {} dimensions does not fit a .npy header", what, tensor.shape().size());
  std::string out(kMagic);
  out += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  out += header;
  const auto data = tensor.data().bytes();
  out.append(reinterpret_cast<const char*>(data.data()), data.size());
  return out;
}

void write_npy(const std::string& path, const Tensor& tensor) { write_file(path, npy_bytes(tensor, path)); }

}  // namespace hone
