// What functions of hone throw. Nothing is printed, and no function ends the process. An exception that a callback of
// the caller throws passes through as it is, and the task that called it ends.
#pragma once

#include <hone/config.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace hone::HONE_API_INLINE api {
// The input is at fault: a file, an option, a tensor of the wrong type. what() says what was found, where, what would
// be accepted and what to do next. The objects in the call are as they were, unless the function says otherwise.
class HONE_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text);  // what() is the text
  ~Error() override;
};

// More memory is needed than the process, or the session, may take (SessionOptions::memory_limit).
class HONE_API MemoryError : public Error {
 public:
  explicit MemoryError(const std::string& text);  // what() is the text
  ~MemoryError() override;
};

// A text is no number format. what() shows it with a mark under the character at fault.
class HONE_API FormatError : public Error {
 public:
  FormatError(const std::string& text, std::string code, size_t position);  // what() is the text
  ~FormatError() override;

  std::string code;     // one of docs/FORMATS.md, section 1: "E_SYNTAX"
  size_t position = 0;  // of the character at fault, from 0
};

// Work ended since somebody asked for that: Context::cancel(), Task::cancelled, Session::close(). It is no Error, and
// the same call works later.
class HONE_API Cancelled : public std::runtime_error {
 public:
  explicit Cancelled(const std::string& text);  // what() is the text
  ~Cancelled() override;
};

// hone is at fault: please report what() with the call that led to it.
class HONE_API InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& text);  // what() is the text
  ~InternalError() override;
};

}  // namespace hone::HONE_API_INLINEapi
