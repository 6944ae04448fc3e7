#include "io/onnx/write_model.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <climits>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/text.h"
#include "io/onnx/tensor_messages.h"

namespace hone::onnx {
namespace {

namespace stream = google::protobuf::io;

// Hands protobuf's bytes to a file. An Error waits until protobuf, which does not expect one, has come back.
class FileOutput : public stream::CopyingOutputStream {
 public:
  explicit FileOutput(AtomicFile& file) : file_(file) {}

  bool Write(const void* bytes, int size) override {
    try {
      if (!error_) file_.write(std::span(static_cast<const std::byte*>(bytes), static_cast<size_t>(size)));
    } catch (...) {
      error_ = std::current_exception();
    }
    return !error_;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  AtomicFile& file_;
  std::exception_ptr error_;
};

void write_message(const ModelProto& model, AtomicFile& file, const std::string& path) {
  if (model.ByteSizeLong() > INT_MAX)
    fail("{}: {} without its larger weights; a protobuf message has less than 2 GiB", path,
         human_bytes(static_cast<double>(model.ByteSizeLong())));
  FileOutput output(file);
  bool written = false;
  {
    stream::CopyingOutputStreamAdaptor adaptor(&output, 1 << 18);
    written = model.SerializeToZeroCopyStream(&adaptor) && adaptor.Flush();
  }
  output.rethrow();
  CHECK(written);
}

constexpr size_t kPage = 4096;  // what the standard recommends offsets to be multiples of, so that they can be mapped

// Moves tensors of a page or more to `file`.
void move_weights(ModelProto& model, AtomicFile& file, const std::string& location) {
  size_t offset = 0;
  const std::string padding(kPage, '\0');
  for (TensorProto* tensor : tensor_messages(model).dense) {
    if (tensor->raw_data().size() < kPage) continue;
    const std::unique_ptr<const std::string> bytes(tensor->release_raw_data());
    file.write(*bytes);
    const auto entry = [&](const char* key, std::string value) {
      StringStringEntryProto& added = *tensor->add_external_data();
      added.set_key(key);
      added.set_value(std::move(value));
    };
    tensor->set_data_location(TensorProto::EXTERNAL);
    entry("location", location);
    entry("offset", std::to_string(offset));
    entry("length", std::to_string(bytes->size()));
    const size_t rest = (kPage - bytes->size() % kPage) % kPage;
    file.write(std::string_view(padding).substr(0, rest));
    offset += bytes->size() + rest;
  }
}

}  // namespace

void write_model(ModelProto model, const std::string& path, size_t max_bytes) {
  AtomicFile file(path);
  if (model.ByteSizeLong() <= std::min<size_t>(max_bytes, INT_MAX)) {
    write_message(model, file, path);
    return file.commit();
  }
  const std::string data_path = path + ".data";
  AtomicFile data(data_path);
  move_weights(model, data, std::filesystem::path(data_path).filename().string());
  write_message(model, file, path);
  commit_both(data, file);
}

}  // namespace hone::onnx
