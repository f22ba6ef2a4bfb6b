// What librdkafka and libcurl call at the start of every program, of libraries that are not in the tarball:
// Debian has them as shared libraries alone, which need a newer glibc and many more. doppel uses them for
// Kerberos on Kafka only. absent.py makes the functions that nothing calls then.

extern "C" {

int libssh2_init(int) { return 0; }

// libsasl2, which librdkafka asks for GSSAPI.
int sasl_client_init(const void*) { return 0; }
int sasl_client_new(...) { return -4; }  // SASL_NOMECH
void sasl_dispose(void**) {}
const char* sasl_errstring(int, const char*, const char**) {
  return "the program of doppel's tarball has no Kerberos (GSSAPI); take the .deb or the image, or another "
         "sasl.mechanism";
}
const char* sasl_errdetail(void*) { return sasl_errstring(0, nullptr, nullptr); }
}
