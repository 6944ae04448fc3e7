#include "io/onnx/message_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <climits>
#include <fstream>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "io/file_kind.h"
#include "io/onnx/damage.h"

namespace hone::onnx {
namespace {

namespace stream = google::protobuf::io;

constexpr int kBlock = 1 << 18;  // bytes read at a time: stays in the second-level cache on the way into the message

bool parses(stream::ZeroCopyInputStream& input, Message& message) {
  stream::CodedInputStream coded(&input);
  coded.SetRecursionLimit(kMaxNesting);
  return message.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

void check_size(size_t bytes, const std::string& source) {
  if (bytes > INT_MAX)
    fail(
        "{}: {}; a protobuf message has less than 2 GiB. Save the weights beside the model, as external data, in "
        "Python: "
        "onnx.save(model, path, save_as_external_data=True)",
        source, human_bytes(static_cast<double>(bytes)));
}

[[noreturn]] void refuse(std::string_view bytes, const std::string& source, const Message& message) {
  const std::string name = message.GetTypeName().substr(std::string_view("hone.onnx.").size());
  const std::string kind = file_kind(bytes);
  if (!kind.empty()) fail("{}: expected ONNX ({}); this looks like {}", source, name, kind);
  fail("{}: not a readable {} of ONNX: {}", source, name, first_fault(bytes, name, kMaxNesting));
}

}  // namespace

std::vector<LargeData> read_message(const MappedFile& file, ModelProto& message) {
  check_size(file.bytes().size(), file.path());
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (std::optional<CutModel> cut = without_large_data(bytes)) {
    stream::ArrayInputStream input(cut->message.data(), static_cast<int>(cut->message.size()));
    if (!parses(input, message)) refuse(bytes, file.path(), message);
    return std::move(cut->data);
  }
  drop_pages(file.bytes());
  std::ifstream in(file.path(), std::ios::binary);
  stream::IstreamInputStream input(&in, kBlock);
  if (!parses(input, message)) refuse(bytes, file.path(), message);
  return {};
}

void parse_message(std::string_view bytes, const std::string& source, Message& message) {
  check_size(bytes.size(), source);
  stream::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
  if (!parses(input, message)) refuse(bytes, source, message);
}

}  // namespace hone::onnx
