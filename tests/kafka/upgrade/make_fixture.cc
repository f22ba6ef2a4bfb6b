// Writes index-log and index-log.checksum into a directory, and what tests/kafka/upgrade/served.h puts back:
// serve.tar.gz. tests/data/upgrade/make runs it.

#include <iostream>

#include "kafka/case.h"
#include "kafka/upgrade/served.h"
#include "kafka/workload.h"

namespace doppel::testing {
namespace {

constexpr const char* kCluster = "doppel-upgrade-fixture";  // 22 characters, like every id of a cluster

void make_index_log(const std::string& directory) {
  Case c(IndexSetup::Settings{{"tombstones", "key"}, {"expire_after", "3650d"}}, Broker::shared().bootstrap(),
         60);
  c.produce_next(60);
  const auto daemon = c.start();
  c.await_all(*daemon);
  Case::stop(*daemon);
  write_file(directory + "/index-log",
             encode_log(read_all(c.setup.bootstrap(), c.setup.options().kafka.index_log)));
  write_file(directory + "/index-log.checksum", index_checksum(c.setup.state()) + "\n");
}

// Originals only, and some of them are removed. The state directory is older than the end of the log.
void make_served(const std::string& directory) {
  TempDir dir;
  write_file(dir / "doppel.yaml",
             "kafka:\n  topics: [documents]\n  index_log: documents-index\n  group: doppel\n"
             "  create_topics: true\n  partitions: 2\n  batch_documents: 25\n"
             "output:\n  topic: duplicates\n  dead_letters: dead-letters\n"
             "tombstones: key\nexpire_after: 3650d\nthreads: 1\n");
  Served served(dir.path().string(), kCluster);
  std::vector<Message> documents = make_workload(
      {.documents = 150, .mean_words = 40, .copies = 0, .null_values = 0, .same_keys = 0, .poison = 0});
  std::erase_if(documents,
                [](const Message& m) { return m.value->find(R"("text":"")") != std::string::npos; });
  std::vector<Message> removals;
  for (size_t i = 0; i < documents.size(); i += 16) {
    if (!documents[i].key) continue;
    removals.push_back(documents[i]);
    removals.back().value.reset();
  }
  produce(served.client(), documents, 0, 100);
  served.judge_all();
  fs::copy(served.state(), dir / "before", fs::copy_options::recursive);
  produce(served.client(), documents, 100, documents.size());
  produce(served.client(), removals, 0, removals.size());
  served.judge_all();
  served.keep();
  fs::remove_all(served.state());
  fs::rename(dir / "before", served.state());
  fs::remove(served.state() + "/LOCK");
  write_file(dir / "cluster", kCluster);
  const std::string pack =
      fmt::format("tar -C '{}' --sort=name --owner=0 --group=0 --mtime=@0 -c . | gzip -n9 >'{}/serve.tar.gz'",
                  dir.path().string(), directory);
  EXPECT_EQ(std::system(pack.c_str()), 0);  // NOLINT(cert-env33-c)
}

}  // namespace
}  // namespace doppel::testing

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_upgrade_fixture DIRECTORY    (with the program $TESTED_PROGRAM)\n";
    return 2;
  }
  doppel::testing::make_index_log(argv[1]);
  doppel::testing::make_served(argv[1]);
  return testing::Test::HasFailure() ? 1 : 0;
}
