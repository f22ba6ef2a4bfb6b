# With -DDOPPEL_UNITY=ON several files of a target are compiled as one, so that their common headers are read once. With
# sanitizers this took .41 of the processor time for eleven files of libdoppel_io, and .69 for three of test_engine. But
# a change of one file compiles more. scripts/test uses it for the builds with sanitizers. scripts/lint.d/chunks.py
# decides which files can be compiled as one.

function(doppel_unity folder)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "[.]cc$")
    list(LENGTH sources count)
    if(NOT type MATCHES "LIBRARY|EXECUTABLE" OR count LESS 2)
      continue()
    endif()
    execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/lint.d/chunks.py ${sources}
      WORKING_DIRECTORY ${folder} OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REPLACE "\n" ";" lines "${lines}")
    foreach(line IN LISTS lines)
      string(REGEX MATCH "^([0-9]+) (.*)$" matched "${line}")
      set_source_files_properties(${CMAKE_MATCH_2} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${target}_${CMAKE_MATCH_1})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endforeach()
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS below)
    doppel_unity(${folder})
  endforeach()
endfunction()

if(DOPPEL_UNITY)
  doppel_unity(${PROJECT_SOURCE_DIR})
endif()
