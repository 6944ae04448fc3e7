// What a scale that is computed in f32 is stored as: f32 itself, or rounded to fp16 or bf16 before elements are
// encoded.
#include <cmath>

#include "formats/codecs.h"
#include "formats/scale.h"

namespace hone {
namespace {

struct StoredType {
  const ElementCodec* codec;
  ElementParams element;
  double smallest_normal;
  uint32_t nan;
};

StoredType stored_type(const Format& format) {
  switch (format.scale.type) {
    case ScaleType::f32:
      return {&binary32_codec, {.bits = 32}, 0x1p-126, 0x7fc00000};
    case ScaleType::fp16:
      return {&minifloat_codec, minifloat_element(5, 10, ElementParams::Top::ieee), 0x1p-14, 0x7e00};
    case ScaleType::bf16:
      return {&minifloat_codec, minifloat_element(8, 7, ElementParams::Top::ieee), 0x1p-126, 0x7fc0};
    default:
      break;
  }
  CHECK(false);
}

int bits_of(ScaleType type) {
  switch (type) {
    case ScaleType::f32:
      return 32;
    case ScaleType::fp16:
    case ScaleType::bf16:
      return 16;
    case ScaleType::i8:
      return 8;
    case ScaleType::u6:
    case ScaleType::i6:
      return 6;
    case ScaleType::u4:
      return 4;
  }
  CHECK(false);
}

}  // namespace

ScaleParams f32_scale_params(ScaleType type) { return {.bits = bits_of(type), .type = type}; }

// The codec of fp16 and bf16 saturates, which keeps the scale finite.
Expr f32_scale_code(const Format& format, Expr scale) {
  const StoredType stored = stored_type(format);
  return stored.codec->encode(stored.element, cast(Scalar::f64, scale));
}

Expr f32_scale_value(const Format& format, Expr code) {
  const StoredType stored = stored_type(format);
  return stored.codec->decode(stored.element, code);
}

uint32_t f32_scale_nan(const Format& format) { return stored_type(format).nan; }

double smallest_normal_scale(const Format& format) { return stored_type(format).smallest_normal; }

Expr effective_scale(const Format& format, Expr value, Expr global) {
  const GlobalValue* const kind = format.scale_kind->global;
  return kind && kind->is_scale ? cast(Scalar::f64, cast(Scalar::f32, value * global)) : value;
}

}  // namespace hone
