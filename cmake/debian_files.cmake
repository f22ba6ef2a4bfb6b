# Changes the files of the .deb as Debian's policy requires. CPack runs this before it packs the files.
set(root ${CPACK_TEMPORARY_DIRECTORY}/ALL_COMPONENTS_IN_ONE/usr/share)
if(NOT EXISTS ${root}/doc/doppel)
  message(FATAL_ERROR "debian_files.cmake: the package's files are not in ${CPACK_TEMPORARY_DIRECTORY}")
endif()

function(compress file)
  execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

compress(${root}/man/man1/doppel.1)
compress(${root}/man/man1/doppel-lab.1)
# The file refers to the licence's text, which every Debian system has.
configure_file(${CMAKE_CURRENT_LIST_DIR}/../deploy/debian/copyright ${root}/doc/doppel/copyright COPYONLY)
# string(TIMESTAMP) uses SOURCE_DATE_EPOCH if it is set.
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${root}/doc/doppel/changelog
"doppel (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * CHANGELOG.md in this folder lists the changes.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
compress(${root}/doc/doppel/changelog)
