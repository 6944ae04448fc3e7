// Blocks of a GGUF file as hone's planes, and back. A block has its scales beside its codes; hone has planes of each,
// in which the parts of a block lie on whole bytes. Nothing is rounded either way.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/gguf/gguf_type.h"
#include "ir/tensor.h"

namespace hone {

// Of a packed type; rows are whole blocks, and `blocks` has all of them (Bug else). `where` names the tensor in errors:
// a scale that another reader takes for infinity is refused. `global`: of nvfp4, what its products are multiplied by.
Tensor tensor_of_blocks(const GgufType& type, const std::vector<int64_t>& shape, std::span<const std::byte> blocks,
                        const std::string& where, float global = 1);

// Of a tensor in the type's format whose rows are whole blocks (Bug else).
std::vector<std::byte> blocks_of(const GgufType& type, const Tensor& tensor);

}  // namespace hone
