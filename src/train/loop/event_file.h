// TensorBoard's event files: records of a length, its checksum, bytes and their checksum, where the bytes are an Event
// of TensorFlow's event.proto, written here by its field numbers. A viewer may read the file while it grows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hone {

// CRC-32C (Castagnoli), as RFC 3720 has it.
uint32_t crc32c(std::span<const std::byte> bytes);

class EventFile {
 public:
  // Makes FOLDER/events.out.tfevents.TIME.HOST.PID, the name that viewers look for. What other files there have from
  // step `first_step` on is void: a run goes on from there. Throws Error when it can't be written.
  EventFile(const std::string& folder, int64_t first_step);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  void add_scalar(std::string_view tag, double value, int64_t step);  // Error on a full disk
  const std::string& path() const { return path_; }

 private:
  void add_record(std::string_view event);
  std::string path_;
  int file_ = -1;
};

}  // namespace hone
