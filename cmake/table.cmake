# The tables of definitions are no part of the layers' libraries. A program that links hone_<layer> gets, as objects, the tables
# of that layer and of those below: of what lies in src/, or, where its property HONE_TABLES is "extended", of what extend_layers()
# adds to that. So the libraries are built once, and nothing in them knows how many definitions there are.

# add_table(<target> <layer> <value of HONE_TABLES> sources...)
# The object library <target>: <layer>::all(), over the definitions in the sources. The layer that emits machine code also gets
# the version of its generators, which are all of the program's.
function(add_table target name choice)
  get_property(def GLOBAL PROPERTY HONE_REGISTRY_${name})
  get_property(folder GLOBAL PROPERTY HONE_FOLDER_${name})
  set(table ${PROJECT_BINARY_DIR}/gen/${target}.cc)
  add_custom_command(OUTPUT ${table}
    COMMAND ${CMAKE_COMMAND} -DLAYER=${name} -DFOLDER=${folder} -DDEF=${def} -DOUT=${table} "-DSOURCES=${ARGN}"
            -P ${PROJECT_SOURCE_DIR}/cmake/registry.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/registry.cmake VERBATIM)
  add_library(${target} OBJECT ${table})
  target_link_libraries(${target} PRIVATE hone_${name})
  set_target_properties(${target} PROPERTIES HONE_TABLES none)
  target_link_libraries(hone_${name} INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:HONE_TABLES>,${choice}>:$<TARGET_OBJECTS:${target}>>)
endfunction()

# add_generator_version(<target> roots...): cached machine code is keyed by the sources of what generates it, below each root.
function(add_generator_version target)
  set(sources "")
  foreach(root ${ARGN})
    foreach(folder expr formats kernels device)
      file(GLOB_RECURSE found CONFIGURE_DEPENDS ${root}/${folder}/*.cc ${root}/${folder}/*.h)
      list(APPEND sources ${found})
    endforeach()
  endforeach()
  set(version ${PROJECT_BINARY_DIR}/gen/${target}_generator_version.cc)
  set(script ${PROJECT_SOURCE_DIR}/cmake/generator_version.cmake)
  add_custom_command(OUTPUT ${version} COMMAND ${CMAKE_COMMAND} -DOUT=${version} "-DSOURCES=${sources}" -P ${script}
    DEPENDS ${sources} ${script} VERBATIM)
  target_sources(${target} PRIVATE ${version})
endfunction()

# extend_layers(<root>): <root>/<folder>/ holds more of a layer with a registry, written as if it lay in src/<folder>/.
function(extend_layers root)
  get_property(layers GLOBAL PROPERTY HONE_LAYERS)
  foreach(name ${layers})
    get_property(def GLOBAL PROPERTY HONE_REGISTRY_${name})
    get_property(libraries GLOBAL PROPERTY HONE_PRIVATE_LIBS_${name})
    layer_sources(${name} ${root} sources)
    if(NOT def AND sources)
      message(FATAL_ERROR "${sources}: ${name} has no registry, so nothing would find what they define")
    elseif(def)
      layer_sources(${name} ${PROJECT_SOURCE_DIR}/src own)
      add_table(hone_${name}_extended ${name} extended ${own} ${sources})
      target_sources(hone_${name}_extended PRIVATE ${sources})
      target_include_directories(hone_${name}_extended PRIVATE ${root})
      target_link_libraries(hone_${name}_extended PRIVATE ${libraries})
    endif()
  endforeach()
  add_generator_version(hone_device_x86_extended ${PROJECT_SOURCE_DIR}/src ${root})
endfunction()
