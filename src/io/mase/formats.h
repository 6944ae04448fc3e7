// What a configuration of MASE says of one operand of a layer, as a format string: the table of docs/FORMATS.md,
// section 6. Keys are those behind the operand's prefix: data_in_frac_width is frac_width.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace hone {

enum class MaseBits : uint8_t {
  sound,  // the format as it is defined: weights are packed
  same    // the values that MASE computes, by compat=mase where those differ: weights are rounded f32
};

// One operand of one layer.
struct MaseOperand {
  std::string quantizer;        // "integer", as `name` has it
  Json keys = Json::object();   // of the operand
  std::string where;            // begins errors: "q.toml: passes.quantize.linear.config: weight"
  size_t rank = 2;              // of the tensor
  bool skip_first_dim = false;  // blocks do not reach across its first axis, unless a key of that name says otherwise
};

// Throws Error for a quantizer or key that is not known, a key that is missing, and settings that no format of hone
// follows.
std::string mase_format(const MaseOperand& operand, MaseBits bits);

// Whether MASE's layers round inputs and biases by it, too: binary rounds weights alone.
bool rounds_weights_alone(const std::string& quantizer);
bool reads_blocks(const std::string& quantizer);  // has a block_size

std::vector<std::string> mase_quantizers();  // names that hone follows

// Whether the value is MASE's way to say None in TOML, which has no null.
bool is_none(const Json& value);

}  // namespace hone
