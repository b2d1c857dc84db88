// Values that other programs compute from or compare with: names from memory sizes, limits, ids, times, utilisation.
#include <cmath>
#include <cstring>
#include <ctime>

#include "test_machine.h"

namespace smartmig::nvsim {
namespace {

class Values : public MachineTest {};

// How NVIDIA's Go libraries name a profile: the part of the board's memory in eighths, of its GiB rounded up.
long long gigabytes_by_parts(unsigned profile_mib, unsigned board_mib) {
  const double eighths = std::ceil(8.0 * profile_mib / board_mib);
  return std::llround(eighths / 8 * std::ceil(board_mib / 1024.0));
}

TEST_F(Values, ProfilesAreNamedAsTheirMemorySays) {
  for (const auto& model : Catalog::builtin().models()) {
    const auto board = Board::named(model->name(), "auto");
    ASSERT_TRUE(board) << board.error().what;
    for (std::size_t i = 0; i < model->profiles().size(); ++i) {
      const Profile& profile = model->profiles()[i];
      const std::string gb =
          fmt::format(".{}gb", gigabytes_by_parts((*board)->memory_mib(int(i)), (*board)->memory_mib()));
      EXPECT_NE(profile.name.find(gb), std::string::npos) << model->name() << " " << profile.name << " comes out as "
                                                          << gb << " of " << (*board)->memory_mib() << " MiB";
    }
  }
}

TEST_F(Values, CopyEnginesOfBlackwell) {
  const auto board = Board::named("b200-180gb", "auto");
  ASSERT_TRUE(board);
  std::vector<unsigned> copies;
  for (const unsigned id : {k1g, k2g, k3g, k4g, k7g})
    copies.push_back((*board)->engines((*board)->profile_by_id(id)).copy);
  EXPECT_EQ(copies, (std::vector<unsigned>{2, 4, 6, 8, 16}));
}

TEST_F(Values, LimitsAndIdsOfTheBoard) {
  start("a100-40gb,b200-180gb,a30-24gb");
  unsigned limit = 0;
  EXPECT_EQ(nvmlDeviceGetPowerManagementDefaultLimit(board(), &limit), NVML_SUCCESS);
  EXPECT_EQ(limit, 400000u);
  EXPECT_EQ(nvmlDeviceGetEnforcedPowerLimit(board(), &limit), NVML_SUCCESS);
  EXPECT_EQ(limit, 400000u);
  nvmlPciInfo_t pci{};
  EXPECT_EQ(nvmlDeviceGetPciInfo_v3(board(0), &pci), NVML_SUCCESS);
  EXPECT_EQ(pci.pciSubSystemId, 0x134F10DEu);
  EXPECT_EQ(nvmlDeviceGetPciInfo_v3(board(2), &pci), NVML_SUCCESS);
  EXPECT_EQ(pci.pciSubSystemId, 0x10DEu);
  nvmlMemory_t memory{};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(board(1), &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total >> 20, 183359u);
}

TEST_F(Values, TimeStampsCountFrom1970) {
  start("1xh200-141gb", "virtual", false);
  char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
  ASSERT_EQ(nvmlDeviceGetUUID(board(), uuid, sizeof uuid), NVML_SUCCESS);
  const auto job = occupy(uuid);
  const auto now = static_cast<unsigned long long>(std::time(nullptr)) * 1000000;
  nvmlProcessUtilizationSample_t processes[4];
  unsigned count = 4;
  ASSERT_EQ(nvmlDeviceGetProcessUtilization(board(), processes, &count, 0), NVML_SUCCESS);
  EXPECT_NEAR(double(processes[0].timeStamp), double(now), 60e6);
  count = 4;
  EXPECT_EQ(nvmlDeviceGetProcessUtilization(board(), processes, &count, now + 3600000000ull), NVML_ERROR_NOT_FOUND);
  nvmlSample_t sample{};
  nvmlValueType_t type{};
  count = 1;
  ASSERT_EQ(nvmlDeviceGetSamples(board(), NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, &sample), NVML_SUCCESS);
  EXPECT_EQ(sample.sampleValue.uiVal, 100u);
  EXPECT_NEAR(double(sample.timeStamp), double(now), 60e6);
}

double sm_utilisation(unsigned gpu_instance, nvmlDevice_t device) {
  nvmlGpmMetricsGet_t get{};
  get.version = NVML_GPM_METRICS_GET_VERSION;
  get.numMetrics = 1;
  get.metrics[0].metricId = NVML_GPM_METRIC_SM_UTIL;
  for (nvmlGpmSample_t* sample : {&get.sample1, &get.sample2}) {
    EXPECT_EQ(nvmlGpmSampleAlloc(sample), NVML_SUCCESS);
    EXPECT_EQ(gpu_instance == NVML_NO_INSTANCE_ID ? nvmlGpmSampleGet(device, *sample)
                                                  : nvmlGpmMigSampleGet(device, gpu_instance, *sample),
              NVML_SUCCESS);
  }
  EXPECT_EQ(nvmlGpmMetricsGet(&get), NVML_SUCCESS);
  EXPECT_EQ(get.metrics[0].nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(nvmlGpmSampleFree(get.sample1), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpmSampleFree(get.sample2), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpmSampleFree(get.sample2), NVML_ERROR_INVALID_ARGUMENT);
  return get.metrics[0].value;
}

TEST_F(Values, SmUtilisationOfAnInstance) {
  start("h200-141gb,a100-40gb");
  const Slice busy = make_slice(k3g, 2), idle = make_slice(k2g, 1);
  const auto job = occupy(busy.uuid);
  EXPECT_EQ(sm_utilisation(busy.id, board()), 100);
  EXPECT_EQ(sm_utilisation(idle.id, board()), 0);
  EXPECT_EQ(sm_utilisation(NVML_NO_INSTANCE_ID, busy.device), 100);
  EXPECT_NEAR(sm_utilisation(NVML_NO_INSTANCE_ID, board()), 100 * 60.0 / 132, 0.01);
  nvmlGpmSample_t sample{};
  ASSERT_EQ(nvmlGpmSampleAlloc(&sample), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpmMigSampleGet(board(), 99, sample), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlGpmSampleGet(board(1), sample), NVML_ERROR_NOT_SUPPORTED);  // no GPM before Hopper
  nvmlGpmSupport_t support{NVML_GPM_SUPPORT_VERSION, 9};
  EXPECT_EQ(nvmlGpmQueryDeviceSupport(board(1), &support), NVML_SUCCESS);
  EXPECT_EQ(support.isSupportedDevice, 0u);
}

TEST_F(Values, ClocksThatCanBeAskedFor) {
  start("1xa100-40gb");
  unsigned clocks[200], count = 0;
  EXPECT_EQ(nvmlDeviceGetSupportedMemoryClocks(board(), &count, clocks), NVML_ERROR_INSUFFICIENT_SIZE);
  ASSERT_EQ(count, 1u);
  ASSERT_EQ(nvmlDeviceGetSupportedMemoryClocks(board(), &count, clocks), NVML_SUCCESS);
  const unsigned memory = clocks[0];
  count = 200;
  EXPECT_EQ(nvmlDeviceGetSupportedGraphicsClocks(board(), memory + 1, &count, clocks), NVML_ERROR_NOT_FOUND);
  ASSERT_EQ(nvmlDeviceGetSupportedGraphicsClocks(board(), memory, &count, clocks), NVML_SUCCESS);
  EXPECT_EQ(count, 81u);
  EXPECT_EQ(clocks[0], 1410u);
  EXPECT_EQ(clocks[80], 210u);
  EXPECT_EQ(nvmlDeviceGetApplicationsClock(board(), NVML_CLOCK_SM, clocks), NVML_SUCCESS);
  EXPECT_EQ(clocks[0], 1095u);
  EXPECT_EQ(nvmlDeviceGetClock(board(), NVML_CLOCK_SM, NVML_CLOCK_ID_CUSTOMER_BOOST_MAX, clocks), NVML_SUCCESS);
  EXPECT_EQ(clocks[0], 1410u);
}

TEST_F(Values, MigDevicesHaveTheirPartOfBar1) {
  start("1xa100-40gb");
  const Slice slice = make_slice(k3g, 2);
  nvmlBAR1Memory_t board_bar{}, bar{};
  EXPECT_EQ(nvmlDeviceGetBAR1MemoryInfo(board(), &board_bar), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetBAR1MemoryInfo(slice.device, &bar), NVML_SUCCESS);
  EXPECT_EQ(bar.bar1Total * 2, board_bar.bar1Total);
}

TEST_F(Values, HandlesByUuidInBothForms) {
  start("2xh200-141gb");
  const Slice slice = make_slice(k3g, 2, -1, 1);
  nvmlUUID_v1_t uuid{nvmlUUID_v1, NVML_UUID_TYPE_ASCII, {}};
  std::strncpy(uuid.value.str, slice.uuid.c_str(), sizeof uuid.value.str);
  nvmlDevice_t found = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByUUIDV(&uuid, &found), NVML_SUCCESS);
  EXPECT_EQ(found, slice.device);
  std::string digits;
  for (const char c : slice.uuid.substr(4))
    if (c != '-') digits += c;
  uuid.type = NVML_UUID_TYPE_BINARY;
  for (int i = 0; i < 16; ++i)
    uuid.value.bytes[i] = static_cast<unsigned char>(std::stoi(digits.substr(std::size_t(2 * i), 2), nullptr, 16));
  found = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByUUIDV(&uuid, &found), NVML_SUCCESS);
  EXPECT_EQ(found, slice.device);
}

}  // namespace
}  // namespace smartmig::nvsim
