// How ops stand to the order of axes: what an op does to transpose(s) is what another does to s, transposed after.
#pragma once

#include "ir/op_def.h"

namespace hone {

bool has_transposed(const OpDef& op);

// Operands that are transposed, the first ones; the others speak of axes by their position in lists.
size_t transposed_operands(const OpDef& op, size_t operands);

// None where the op has no rule, or where there would no longer be a kernel for the axes that it works on.
std::optional<Transposed> transposed(const TransposeArgs& a);

// Rules that definitions share.
std::optional<Transposed> transposed_along_axis(const TransposeArgs& a);  // the attribute `axis`, 0 where it is absent
std::optional<Transposed> transposed_along_row(const TransposeArgs& a);   // likewise, the last one where it is absent
std::optional<Transposed> transposed_on_axes(const TransposeArgs& a);     // the attribute `axes`
std::vector<int64_t> moved_axes(const std::vector<int64_t>& axes, const Permutation& perm);  // where s has them
Permutation without(const Permutation& perm, const std::vector<int64_t>& gone);  // the order of the axes that are left

}  // namespace hone
