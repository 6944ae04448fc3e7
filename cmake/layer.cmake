# layer(<name> [FOLDER folder] [DEPS layers...] [REGISTRY <XDef>] [LIBS public libraries...] [PRIVATE_LIBS libraries...] [WITHOUT folders of other layers...])
# One folder of src/ (called <name>, unless FOLDER says otherwise, without those of other layers that lie in it)
# becomes the static library hone_<name>. With REGISTRY, every `constinit const XDef name_def` in the folder
# is listed in a generated, sorted table that <name>::all() returns. The calls of this function are the only statement of who
# may include whom; tests/guards checks the sources against them.
set_property(GLOBAL PROPERTY HONE_LAYERS "")
function(layer name)
  cmake_parse_arguments(ARG "" "REGISTRY;FOLDER" "DEPS;LIBS;PRIVATE_LIBS;WITHOUT" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${ARG_FOLDER}/*.cc)
  foreach(other ${ARG_WITHOUT})
    list(FILTER sources EXCLUDE REGEX "/src/${other}/")
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  set(all_sources ${sources})
  if(ARG_REGISTRY)
    set(table ${PROJECT_BINARY_DIR}/gen/${name}/registry.cc)
    add_custom_command(OUTPUT ${table}
      COMMAND ${CMAKE_COMMAND} -DLAYER=${name} -DFOLDER=${ARG_FOLDER} -DDEF=${ARG_REGISTRY} -DOUT=${table} "-DSOURCES=${sources}"
              -P ${PROJECT_SOURCE_DIR}/cmake/registry.cmake
      DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/cmake/registry.cmake VERBATIM)
    list(APPEND all_sources ${table})
  endif()
  if(NOT all_sources)
    set(all_sources ${PROJECT_SOURCE_DIR}/cmake/empty.cc)
  endif()
  add_library(hone_${name} STATIC ${all_sources})
  target_include_directories(hone_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM ARG_DEPS PREPEND hone_ OUTPUT_VARIABLE deps)
  target_link_libraries(hone_${name} PUBLIC ${deps} ${ARG_LIBS} PRIVATE ${ARG_PRIVATE_LIBS})
  # Most of what a source file includes is what ir/graph.h does. The release build reads that once; other builds hold every file to
  # including what it uses.
  if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT HONE_SANITIZE)
    target_compile_options(hone_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
    if(name STREQUAL ir)
      target_precompile_headers(hone_ir PRIVATE ${PROJECT_SOURCE_DIR}/src/ir/graph.h)
    elseif(TARGET hone_ir AND NOT "llvm" IN_LIST ARG_PRIVATE_LIBS)  # whose macros a precompiled header must share
      target_precompile_headers(hone_${name} REUSE_FROM hone_ir)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY HONE_LAYERS ${name})
  set_property(GLOBAL PROPERTY HONE_DEPS_${name} "${ARG_DEPS}")
  set_property(GLOBAL PROPERTY HONE_FOLDER_${name} "${ARG_FOLDER}")
  set_property(GLOBAL PROPERTY HONE_WITHOUT_${name} "${ARG_WITHOUT}")
endfunction()
