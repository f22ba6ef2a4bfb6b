# The one place that says what the compiler must accept without a word.
# (Designated initialisers leave members at their defaults on purpose.)
add_library(doppel_build INTERFACE)
# In files that are compiled as one, a local name may be another file's global one.
set(DOPPEL_SHADOW_WARNINGS $<$<NOT:$<BOOL:${DOPPEL_UNITY}>>:-Wshadow>)
target_compile_options(doppel_build INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers ${DOPPEL_SHADOW_WARNINGS} -Wnon-virtual-dtor -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlaps in std::string's own appending of short literals.
  target_compile_options(doppel_build INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND DOPPEL_UNITY)
  # g++ takes a file that is compiled with others for a header, whose types must have no members of local types.
  target_compile_options(doppel_build INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Debian's Abseil was built with the older ABI of class template arguments.
  # libstdc++ 12 has a deprecated call within std::stable_sort, which Clang reports at each use.
  target_compile_options(doppel_build INTERFACE -fclang-abi-compat=17 -Wno-deprecated-declarations)
endif()
if(DOPPEL_SANITIZE)
  target_compile_options(doppel_build INTERFACE -fsanitize=${DOPPEL_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(doppel_build INTERFACE -fsanitize=${DOPPEL_SANITIZE})
endif()
