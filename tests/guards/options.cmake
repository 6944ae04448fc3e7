# Finds verbs that add an option of their own to the command line instead of stating it in their table (cli/verb.h): any file of SRC/cli
# but those that read tables and the limits that every verb has. Prints every fault, then fails.
cmake_minimum_required(VERSION 3.25)
set(readers option_flags.cc limits.cc)

set(faults 0)
file(GLOB files RELATIVE ${SRC}/cli ${SRC}/cli/*.h ${SRC}/cli/*.cc)
foreach(file ${files})
  file(READ ${SRC}/cli/${file} content)
  if(content MATCHES "add_(option|flag)" AND NOT file IN_LIST readers)
    message("cli/${file}: adds an option by hand; state it in the verb's table of fields (cli/option_flags.h)")
    math(EXPR faults "${faults} + 1")
  endif()
endforeach()
if(faults GREATER 0)
  message(FATAL_ERROR "${faults} files add options by hand")
endif()
