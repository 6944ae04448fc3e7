// What a verb wrote as a model is opened again before the verb says success: every constant must have the bits that it
// has in memory, and a short run on made-up inputs must give what the graph in memory gives.
//   exact exporters  the same graph text, the same bits in every constant of it and of the bodies in it, the same files
//                    that ride along, the same bits in every output
//   others (ONNX)    constants that it keeps under their names decode to the same bits, in whatever order of axes;
//                    outputs are within 1e-5 of the output's largest value (two last bits of f16 and bf16, 1 of
//                    integers), or within four times what two evaluations of the graph in memory (compiled, and the
//                    reference) differ by where that is more: roundings to formats turn a last bit into a whole step
#pragma once

#include <map>
#include <string>

#include "exporters/exporter.h"

namespace hone {

// A sentence for the record: "opened again: 206 constants with the same bits; a run gives the same bits", or "…; not
// run: " and the reason, where no inputs can be made up, or a run would take too long or too much memory. Throws Error
// that says what differs.
std::string verify_written(const ExporterDef& exporter, const std::string& path, const Graph& written,
                           const std::map<std::string, std::string>& files = {});

}  // namespace hone
