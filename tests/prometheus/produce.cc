// Produces the records that it reads from stdin, as lines "PARTITION TIMESTAMP_MS VALUE"; VALUE "-" stands
// for null. An empty line sends the records so far; the answer is a line when all of them are acknowledged.
// usage: produce BOOTSTRAP TOPIC

#include <iostream>
#include <sstream>
#include <string>

#include "kafka/client.h"

int main(int argc, char** argv) {
  using doppel::testing::Message;
  if (argc != 3) return 2;
  doppel::testing::Client client(argv[1]);
  std::vector<Message> messages;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) {
      client.produce(argv[2], messages);
      std::cout << messages.size() << std::endl;
      messages.clear();
      continue;
    }
    std::istringstream words(line);
    Message message;
    std::string value;
    words >> message.partition >> message.timestamp_ms >> std::ws;
    std::getline(words, value);
    if (value != "-") message.value = value;
    message.key = "k" + std::to_string(message.timestamp_ms % 1000);
    messages.push_back(message);
  }
  return 0;
}
