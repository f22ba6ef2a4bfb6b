# The content encodings are packed by the libraries' own encoders.
pkg_check_modules(BROTLI_ENCODER REQUIRED IMPORTED_TARGET libbrotlienc)
target_link_libraries(test_formats PRIVATE PkgConfig::BROTLI_ENCODER zstd::libzstd_shared)
