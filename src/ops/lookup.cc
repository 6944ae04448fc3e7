// lookup: a table of numbers applied to codes.
#include "ir/compute_column.h"
#include "ops/pointwise_args.h"

namespace hone {
namespace {

constexpr size_t kMost = 256;
constexpr AttributeSpec kAttributes[] = {
    {"table", AttributeKind::integers, true, "the result for each x, 1 to 256 of them"},
    {"dtype", AttributeKind::dtype, true, "element type of the result: an integer of up to 32 bits"}};

Expr lookup_of(Args a) {
  const DType to = a.attributes.get<DType>("dtype");
  const auto& table = a.attributes.get<std::vector<int64_t>>("table");
  if (!is_integer(a.dtypes[0]))
    fail("operand 0 has elements of type {}; accepted: integers. Insert a cast", to_string(a.dtypes[0]));
  if (!is_integer(to) || size_bytes(to) > 4) fail("dtype is {}; accepted: integers of up to 32 bits", to_string(to));
  if (table.empty() || table.size() > kMost) fail("table has {} entries; accepted: 1 to {}", table.size(), kMost);
  const int bits = static_cast<int>(size_bytes(to)) * 8;
  const int64_t least = is_unsigned(to) ? 0 : -(int64_t{1} << (bits - 1)), most = least + (int64_t{1} << bits) - 1;
  std::vector<Expr> entries;
  for (int64_t entry : table) {
    if (entry < least || entry > most)
      fail("table has the entry {}; accepted for {}: {} to {}", entry, to_string(to), least, most);
    entries.push_back(Expr::number(compute_scalar(to), static_cast<double>(entry)));
  }
  return cast_element(to, lookup(std::move(entries), cast(Scalar::u32, a[0])));
}

}  // namespace

extern constinit const OpDef lookup_def{.name = "lookup",
                                        .doc =
                                            "table[x], x modulo the size of the table rounded up to a power of two, so "
                                            "that in one of 256 negative x count from "
                                            "the end; entries past the end are 0.",
                                        .attributes = kAttributes,
                                        .pointwise = lookup_of,
                                        .no_gradient = "entries of a table have no slope"};

}  // namespace hone
