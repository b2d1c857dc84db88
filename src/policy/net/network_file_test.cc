#include "policy/net/network_file.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace smartmig {
namespace {

PolicyFile small_file() {
  PolicyFile file;
  Controller c;
  c.gpu = "a30-24gb";
  c.shapes = {"4g.24gb", "2g.12gb*2"};
  c.initial = {"4g.24gb"};
  c.features = Features::kPaper;
  c.top_k = 2;
  c.sampling = Sampling::kQuota;
  c.network = Network({input_count(Features::kPaper, 2), 7, 2, {5}});
  Rng rng(3);
  for (float& p : c.network.parameters()) p = float(rng.normal());
  c.network.mean()[4] = 0.125f;
  file.controllers.push_back(std::move(c));
  file.first_seed = 1;
  file.last_seed = 40;
  file.config = "[train]\nseed = 1\n";
  return file;
}

TEST(NetworkFile, WrittenAndReadBackIsTheSame) {
  const PolicyFile file = small_file();
  const std::string bytes = to_bytes(file);
  const auto back = parse_policy_file("x.policy", bytes);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(to_bytes(*back), bytes);
  const Controller &a = file.controllers[0], &b = back->controllers[0];
  EXPECT_EQ(std::vector(a.network.parameters().begin(), a.network.parameters().end()),
            std::vector(b.network.parameters().begin(), b.network.parameters().end()));
  EXPECT_EQ(b.shapes, a.shapes);
  EXPECT_EQ(b.sampling, Sampling::kQuota);
  EXPECT_EQ(back->last_seed, 40u);
}

TEST(NetworkFile, SaysForWhichCostsAndWithWhichPlacerItWasTrained) {
  PolicyFile file = small_file();
  file.cost = "paper";
  file.placer = "value";
  const auto read = parse_policy_file("x.policy", to_bytes(file));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->cost, "paper");
  EXPECT_EQ(read->placer, "value");
  file.cost = file.placer = "";  // as earlier programs wrote it
  EXPECT_EQ(parse_policy_file("x.policy", to_bytes(file))->cost, "");
  file.config = "[env]\ncost_of = \"x\"\ncost = \"hardware\"\nplacer=\"cedf\"\n[train]\nseed = 1\n";
  const auto old = parse_policy_file("x.policy", to_bytes(file));
  EXPECT_EQ(old->cost, "hardware");
  EXPECT_EQ(old->placer, "cedf");
}

TEST(NetworkFile, EveryDamagedByteAndEveryCutIsRefusedByName) {
  const std::string bytes = to_bytes(small_file());
  for (std::size_t i = 0; i < bytes.size(); i += i < 64 ? 1 : 37) {
    std::string bad = bytes;
    bad[i] = char(bad[i] ^ 0x20);
    const auto read = parse_policy_file("bad.policy", bad);
    ASSERT_FALSE(read) << "byte " << i;
    EXPECT_NE(read.error().what.find("bad.policy"), std::string::npos);
    EXPECT_FALSE(parse_policy_file("cut.policy", std::string_view(bytes).substr(0, i)));
  }
}

TEST(NetworkFile, RefusalsSayWhy) {
  const auto why = [](std::string_view bytes) { return parse_policy_file("p", bytes).error().what; };
  EXPECT_NE(why("{\"a\": 1}").find("is not a smartmig policy"), std::string::npos);
  std::string newer = to_bytes(small_file());
  newer[8] = 9;
  EXPECT_NE(why(newer).find("format version 9"), std::string::npos);
  std::string damaged = to_bytes(small_file());
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_NE(why(damaged).find("checksum"), std::string::npos);
  PolicyFile nan = small_file();
  nan.controllers[0].network.parameters()[3] = 0.0f / 0.0f;
  EXPECT_NE(why(to_bytes(nan)).find("not finite"), std::string::npos);
  EXPECT_NE(why(to_container({{"conf", ""}})).find("head is missing"), std::string::npos);
}

}  // namespace
}  // namespace smartmig
