// kafka_bench: the clients of bench/kafka; see there.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "clients.h"

int main(int argc, char** argv) {
  using namespace doppel::bench;
  CLI::App app("Clients that bench/kafka runs beside doppel");
  Flags flags;
  app.add_option("--brokers", flags.brokers)->required();
  app.add_option("--topic", flags.topic, "of documents")->required();
  app.add_option("--events", flags.events, "the topic of events");
  app.add_option("--log", flags.log, "the index log");
  app.add_option("--group", flags.group)->capture_default_str();
  app.add_option("--docs", flags.docs, "0: await all that are there")->capture_default_str();
  app.add_option("--begin", flags.begin, "the first document, and its offset")->capture_default_str();
  app.add_option("--kind", flags.kind,
                 "4 KB with copies; later: copies of documents before --begin; "
                 "short: a quarter of that, all different")
      ->check(CLI::IsMember({"english", "later", "short"}))
      ->capture_default_str();
  app.add_option("--codec", flags.codec)->capture_default_str();
  app.add_option("--batch", flags.batch, "documents for each transaction")->capture_default_str();
  app.add_option("--partitions", flags.partitions, "of the topic, when filled")->capture_default_str();
  app.add_option("--rate", flags.rate, "documents a second")->capture_default_str();
  app.add_option("--seconds", flags.seconds)->capture_default_str();
  app.add_option("--patience", flags.patience, "seconds to wait for events of the last documents")
      ->capture_default_str();
  app.require_subcommand(1);
  app.fallthrough();
  int (*run)(const Flags&) = nullptr;
  const auto add = [&](const char* name, const char* help, int (*what)(const Flags&)) {
    app.add_subcommand(name, help)->callback([&run, what] { run = what; });
  };
  add("fill", "documents into a topic", fill);
  add("drain", "a consumer that does nothing", drain);
  add("noop", "a consumer that writes as much as doppel, in transactions", noop);
  add("latency", "documents at a steady rate, and when their events come", latency);
  add("await", "until the group has read all", await);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(flags);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kafka_bench: %s\n", e.what());
    return 1;
  }
}
