#pragma once
// Certificates for tests, made by the program openssl.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace doppel::testing {

inline void run_openssl(const std::string& arguments) {
  ASSERT_EQ(std::system(("openssl " + arguments + " 2>/dev/null").c_str()), 0) << arguments;
}

// Writes `name`.pem and `name`.key, which certify themselves.
inline void make_authority(const std::string& name) {
  run_openssl(
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority "
      "-keyout " +
      name + ".key -out " + name + ".pem");
}

// Writes `name`.pem and `name`.key for localhost, certified by `authority`.
inline void make_certificate(const std::string& name, const std::string& authority) {
  run_openssl(
      "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost "
      "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout " +
      name + ".key -out " + name + ".csr");
  run_openssl("x509 -req -days 2 -copy_extensions copy -CAcreateserial -in " + name + ".csr -CA " +
              authority + ".pem -CAkey " + authority + ".key -out " + name + ".pem");
}

}  // namespace doppel::testing
