# The compiler's warnings, all of which are errors.
# -Wno-missing-field-initializers: designated initialisers leave members at their defaults on purpose.
add_library(doppel_build INTERFACE)
# If files are compiled as one, a local name in one file may shadow a global name of another file.
set(DOPPEL_SHADOW_WARNINGS $<$<NOT:$<BOOL:${DOPPEL_UNITY}>>:-Wshadow>)
target_compile_options(doppel_build INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers ${DOPPEL_SHADOW_WARNINGS} -Wnon-virtual-dtor -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 reports overlaps within std::string when it appends short literals.
  target_compile_options(doppel_build INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND DOPPEL_UNITY)
  # g++ treats a file that another one includes as a header, in which types must not have members of local types.
  target_compile_options(doppel_build INTERFACE -Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Debian's Abseil was built with the older ABI of class template arguments.
  # std::stable_sort of libstdc++ 12 contains a deprecated call, which Clang reports at each use.
  target_compile_options(doppel_build INTERFACE -fclang-abi-compat=17 -Wno-deprecated-declarations)
endif()
if(DOPPEL_SANITIZE)
  target_compile_options(doppel_build INTERFACE -fsanitize=${DOPPEL_SANITIZE} -fno-sanitize-recover=all)
  if(DOPPEL_SANITIZE MATCHES "undefined")
    # The use of a null pointer, or of memory beyond a block, ends the program anyway, and these checks take a third of compiling.
    target_compile_options(doppel_build INTERFACE
      -fno-sanitize=null,vptr,object-size,nonnull-attribute,returns-nonnull-attribute,pointer-overflow)
    # These two lay out memory. For all others the checks of alignment take a fifth of compiling.
    target_compile_options(doppel_build INTERFACE
      "$<$<NOT:$<IN_LIST:$<TARGET_PROPERTY:NAME>,doppel;doppel_io>>:-fno-sanitize=alignment>")
  endif()
  target_link_options(doppel_build INTERFACE -fsanitize=${DOPPEL_SANITIZE})
endif()
