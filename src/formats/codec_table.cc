// Codes that stand for the integers of a table: the nearest, the even code at a tie (docs/FORMATS.md, section 5.14).
#include <bit>

#include "formats/codecs.h"

namespace hone {
namespace {

std::span<const int8_t> table_of(const ElementParams& p) { return {p.table, size_t{1} << p.bits}; }

// As many codes lie below x as thresholds between neighbours do.
Expr encode(const ElementParams& p, Expr x) {
  const std::span<const int8_t> table = table_of(p);
  Expr code = Expr::constant(Scalar::u32, 0);
  for (size_t i = 1; i < table.size(); ++i) {
    const double middle = (table[i - 1] + table[i]) / 2.0;
    code = code + cast(Scalar::u32, i % 2 == 0 ? x >= middle : x > middle);
  }
  return code;
}

Expr decode(const ElementParams& p, Expr code) {
  std::vector<Expr> values;
  for (const int8_t value : table_of(p)) values.push_back(Expr::number(Scalar::f64, value));
  return lookup(std::move(values), code);
}

}  // namespace

extern constinit const ElementCodec table_codec{
    .name = "table",
    .encode = encode,
    .decode = decode,
    .max = [](const ElementParams& p) { return static_cast<double>(table_of(p).back()); },
    .fraction_bits_on_top = [](const ElementParams&) { return 2; }};

ElementParams table_element(std::span<const int8_t> table) {
  return {.bits = std::countr_zero(table.size()), .table = table.data()};
}

}  // namespace hone
