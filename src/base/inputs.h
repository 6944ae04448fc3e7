// The files that this process has read, so that what comes of them never takes their place. A program that calls
// keep_inputs() can't replace one through AtomicFile: neither a model nor what it consists of (weights beside an .onnx
// file, tokenizers, shards), whatever the names and links are that lead there.
#pragma once

#include <sys/stat.h>

#include <string>

namespace hone {

void keep_inputs();  // for programs, once, before anything is read; a library keeps none

// Takes the file at this path out: what is written over it is its successor.
void may_replace(const std::string& path);

bool is_kept_input(const struct stat& file);
void refuse_kept_input(const std::string& path);  // Error when the file at this path is one

// By whoever opens a file to read it, and whoever has written one: that is no input, even where it is read again.
void note_read(const struct stat& file);
void note_written(const struct stat& file);

}  // namespace hone
