# Finds arguments of kernels that go by number instead of by name (device/args.h), in any file of SRC, comments included. Prints every
# fault, then fails.
cmake_minimum_required(VERSION 3.25)
set(number "kernel_(dim|pointer)\\([^()]*, *[0-9]")           # in an emitter
string(APPEND number "|(^|[^a-z_])(dims|pointers)@ *[0-9]")   # of KernelArgs; @ stands for a bracket
string(APPEND number "|[.](dims|pointers) = {+ *[^ }{]")      # all of them in their order

set(faults 0)
foreach(folder kernels device runtime jobs measure)
  file(GLOB_RECURSE files RELATIVE ${SRC} ${SRC}/${folder}/*.h ${SRC}/${folder}/*.cc)
  foreach(file ${files})
    file(READ ${SRC}/${file} content)
    if(NOT content MATCHES "kernel_dim|kernel_pointer|dims|pointers")
      continue()
    endif()
    # Semicolons and brackets would make CMake split or join lines.
    string(REGEX REPLACE "[];\\]" " " content "${content}")
    string(REPLACE "[" "@" content "${content}")
    string(REPLACE "\n" ";" lines "${content}")
    set(line_number 0)
    foreach(line IN LISTS lines)
      math(EXPR line_number "${line_number} + 1")
      if(line MATCHES "${number}")
        message("${file}:${line_number}: an argument by number; name it: place_of, from_args, to_args (device/args.h)")
        math(EXPR faults "${faults} + 1")
      endif()
    endforeach()
  endforeach()
endforeach()
if(faults GREATER 0)
  message(FATAL_ERROR "${faults} arguments of kernels go by number")
endif()
