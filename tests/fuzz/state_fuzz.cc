// Reads any bytes as a file or record that a start reads: a record of the index log, a position on Kafka, the
// metadata of an original, a row of "hot", a journal. Reading must refuse them, or return something that
// stays the same when it is written and read once more. Checksums are made right, because a wrong one would
// hide everything else. The first byte chooses the format.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/bytes.h"
#include "base/checksums.h"
#include "records/metadata.h"
#include "state/columns.h"
#include "state/index_log.h"
#include "state/journal.h"

namespace {

using namespace doppel;

void check(bool holds) {
  if (!holds) std::abort();
}

// The input is a length, a key of that length, and a value without its checksum.
void log_record(std::string_view bytes) {
  ByteReader in(bytes);
  const std::string_view key = in.bytes(in.fixed<uint8_t>());
  if (!in.ok()) return;
  (void)parse_log_record(key, in.rest(), true);
  if (in.rest().empty()) return (void)parse_log_record(key, {}, false);
  std::string value(in.rest().substr(0, 1));
  put_fixed(value, crc32c(in.rest().substr(1), crc32c(in.rest().substr(0, 1), crc32c(key))));
  value.append(in.rest().substr(1));
  (void)parse_log_record(key, value, true);
}

void position(std::string_view bytes) {
  const absl::StatusOr<kafka::KafkaPosition> read = kafka::decode_position(bytes);
  if (!read.ok()) return;
  const std::string again = kafka::encode_position(*read);
  const absl::StatusOr<kafka::KafkaPosition> same = kafka::decode_position(again);
  check(same.ok() && kafka::encode_position(*same) == again);
}

void metadata(std::string_view bytes) {
  Metadata read, same;
  if (!decode_metadata(bytes, read).ok()) return;
  (void)read.name();
  std::string again, third;
  encode_metadata(read, again);
  check(decode_metadata(again, same).ok());
  encode_metadata(same, third);
  check(third == again);
}

void hot_row(std::string_view bytes) {
  const Epoch epoch{1, 2, 3};
  const HotFormat format(8, 1, epoch);
  std::string row(format.row_bytes(), '\0');
  bytes.copy(row.data() + sizeof(uint32_t), row.size() - sizeof(uint32_t));
  const uint64_t number = 7;
  const uint32_t seed = crc32c({reinterpret_cast<const char*>(&number), sizeof number},
                               crc32c({reinterpret_cast<const char*>(epoch.data()), epoch.size()}));
  store(row.data(), crc32c(std::string_view(row).substr(sizeof(uint32_t)), seed));
  StoredRow stored;
  check(format.decode(number, row.data(), stored));
}

// The input is the payloads of records, each after its length: they get heads with right checksums.
void journal(std::string_view bytes) {
  std::string file = encode_header({.kind = FileKind::journal, .epoch = {1, 2, 3}});
  uint32_t crc = 0;
  ByteReader in(bytes);
  while (!in.rest().empty()) {
    const std::string_view payload = in.bytes(std::min<size_t>(in.fixed<uint8_t>(), in.rest().size()));
    std::string record;
    put_fixed(record, static_cast<uint32_t>(payload.size()));
    crc = crc32c(payload, crc32c(record, crc));
    put_fixed(record, crc);
    file += record.append(payload);
  }
  const int fd = ::memfd_create("journal", 0);
  check(fd >= 0 && ::write(fd, file.data(), file.size()) == static_cast<ssize_t>(file.size()));
  const absl::StatusOr<File> opened = File::open("/proc/self/fd/" + std::to_string(fd), O_RDONLY);
  check(opened.ok());
  const absl::StatusOr<JournalContents> read = read_journal(*opened);
  if (read.ok()) {
    for (size_t i = 0; i < read->entries.size(); ++i) (void)read->source_position(i);
  }
  ::close(fd);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      log_record(bytes);
      break;
    case 1:
      position(bytes);
      break;
    case 2:
      metadata(bytes);
      break;
    case 3:
      hot_row(bytes);
      break;
    default:
      journal(bytes);
  }
  return 0;
}
