// Writes index-log and index-log.checksum into a directory: tests/data/upgrade/make runs it.

#include <iostream>

#include "kafka/case.h"
#include "kafka/upgrade/fixture.h"

int main(int argc, char** argv) {
  using namespace doppel::testing;
  if (argc != 2) {
    std::cerr << "usage: make_upgrade_fixture DIRECTORY\n";
    return 2;
  }
  const std::string directory = argv[1];
  Case c(IndexSetup::Settings{{"tombstones", "key"}, {"expire_after", "3650d"}}, Broker::shared().bootstrap(),
         60);
  c.produce_next(60);
  const auto daemon = c.start();
  c.await_all(*daemon);
  Case::stop(*daemon);
  write_file(directory + "/index-log",
             encode_log(read_all(c.setup.bootstrap(), c.setup.options().kafka.index_log)));
  write_file(directory + "/index-log.checksum", index_checksum(c.setup.state()) + "\n");
  return testing::Test::HasFailure() ? 1 : 0;
}
