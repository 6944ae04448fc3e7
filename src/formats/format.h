// A number format is data: element codec × scale kind × block geometry (docs/FORMATS.md, section 2).
//
// FormatDef    a family of formats with a name pattern: one file each in this folder, found by the generated table.
// Format       a value: one member of a family with its parameters and geometry, e.g. "int4.g128". Cheap to copy.
// ElementCodec how one number becomes W bits and back, as expressions.
// ScaleKind    how a group gets its scale: reductions over the group, then expressions of their results.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "expr/expr.h"

namespace hone {

struct FormatDef;

// Parameters of an element codec; which of them mean something is the codec's business.
struct ElementParams {
  int bits = 0;  // W, bits of one code
  int exponent_bits = 0, mantissa_bits = 0, bias = 0;
  int fraction_bits = 0;  // int codec: value = code * 2^-fraction_bits
  bool is_signed = true;
  bool symmetric = false;    // int codec: the most negative code is never emitted
  bool round_floor = false;  // round toward minus infinity instead of to nearest even
  enum class Top : uint8_t {
    finite,
    fn,
    ieee
  } top = Top::finite;            // what the largest exponent field means (FORMATS 5.1)
  bool saturate = true;           // beyond the largest value: saturate, or overflow to infinity
  int no_code = -1;               // a code that stands for nothing: reading it is an error
  const int8_t* table = nullptr;  // table codec: what the 2^bits codes stand for, ascending
  bool operator==(const ElementParams&) const = default;
};

struct ElementCodec {
  const char* name;
  Expr (*encode)(const ElementParams&, Expr x);       // f64 value already divided by the scale -> u32 code
  Expr (*decode)(const ElementParams&, Expr code);    // u32 code -> f64 value without scale
  double (*max)(const ElementParams&);                // largest finite value
  int (*fraction_bits_on_top)(const ElementParams&);  // t of FORMATS section 2
};

enum class ScaleRule : uint8_t {
  floor,
  rceil,
  even,
  mse,
  log  // the log codec's own rounding of the largest magnitude; not spelled
};

// What a scale that is computed in f32 is stored as (option `s=`). Integers are relative to an fp16, the outer scale,
// that a super-block of kSuperBlock elements along a line shares.
enum class ScaleType : uint8_t { f32, fp16, bf16, u4, u6, i6, i8 };
constexpr int64_t kSuperBlock = 256;
inline bool is_two_level(ScaleType type) { return type >= ScaleType::u4; }

struct ScaleParams {
  int bits = 0;  // of one stored scale; 0: no scale
  ScaleRule rule = ScaleRule::floor;
  ScaleType type = ScaleType::f32;
  bool operator==(const ScaleParams&) const = default;
};

struct ScaleKind;  // formats/scale.h

struct Geometry {
  // flattened: groups of consecutive elements of the flattened tensor, which may cross rows (compat=mase-cuda only).
  enum class Kind : uint8_t { none, tensor, channel, group, tile, flattened } kind = Kind::none;
  int64_t rows = 1, columns = 0;  // group, flattened: columns = N; tile: rows x columns, 0 = the whole dimension
  int axis = -1;
  bool operator==(const Geometry&) const = default;
};

struct Format {
  const FormatDef* family = nullptr;
  const ElementCodec* codec = nullptr;
  ElementParams element;
  const ScaleKind* scale_kind = nullptr;  // never null; scale kind `none` where there is no scale
  ScaleParams scale;
  Geometry geometry;
  bool operator==(const Format&) const = default;
};

// A definition in the table: recognises its own heads and fills a Format; prints it canonically.
struct FormatDef {
  const char* name;      // as listed by `hone formats`: "mxint<W>", "int<W>.f<F>"
  const char* doc;       // what it is, where it comes from
  const char* examples;  // space-separated canonical strings that `hone formats` lists and tests loop over
  // Parses `text` ("int4.g128"); returns false when the head is not this family's; throws FormatError for a bad
  // parameter or option.
  bool (*parse)(std::string_view text, Format& out);
  std::string (*print)(const Format&);
};

// Error of a format string: `code` is one of FORMATS section 1 (E_SYNTAX ...), `position` the offending character;
// what() shows both with a caret under the character.
class FormatError : public Error {
 public:
  FormatError(std::string code, std::string_view text, size_t position, const std::string& message);
  std::string code;
  size_t position;
};

namespace formats {
std::span<const FormatDef* const> all();
}

Format parse_format(std::string_view text);
std::string to_string(const Format& format);  // canonical spelling
bool is_plain_float(const Format& format);    // fp32 fp16 bf16: tensors of these are plain dtypes, not packed planes
double nominal_bits(const Format& format);    // bits per element at large sizes (FORMATS 3.6)
bool is_two_level(const Format& format);      // scales of scales (FORMATS 4.4)
bool has_minimum(const Format& format);       // an element is value * scale + minimum of its group (FORMATS 4.4)

// rsign2, rsign3: an element is a sum of signed scales, one per level, instead of a code's value times one scale.
bool is_residual(const Format& format);
// compat=mase: fake_quantize() only; there is no code to store, and packing throws FormatError E_FAKE_ONLY.
bool is_fake_only(const Format& format);

}  // namespace hone
