#include "kernels/elements.h"

namespace hone {

bool has_machine_type(DType dtype) { return dtype != DType::string && !is_small(dtype); }

bool is_loadable(DType dtype) { return has_machine_type(dtype) && dtype != DType::i16 && dtype != DType::u16; }

bool passes_unrounded(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64 ||
         dtype == DType::u32 || dtype == DType::u64 || dtype == DType::boolean;
}

}  // namespace hone
