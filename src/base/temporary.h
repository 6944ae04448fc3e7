// Files and folders that are gone when the process ends, however it does: by unwinding, or by remove_temporaries()
// before an abrupt end.
#pragma once

#include <string>

namespace hone {

// Removes `path`, a file or a folder with all that is in it, when it dies, unless released.
class Temporary {
 public:
  Temporary() = default;
  explicit Temporary(std::string path);  // which exists
  ~Temporary();
  Temporary(Temporary&& other) noexcept;
  Temporary& operator=(Temporary&& other) noexcept;

  const std::string& path() const { return path_; }
  void release();  // it has been renamed: nothing to remove

 private:
  std::string path_;  // empty: none
};

// Of all living objects. For a thread that is about to end the process (not for signal handlers).
void remove_temporaries() noexcept;

}  // namespace hone
