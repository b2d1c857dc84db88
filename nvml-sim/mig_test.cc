#include <set>

#include "test_machine.h"

namespace smartmig::nvsim {
namespace {

class Mig : public MachineTest {};

TEST_F(Mig, NothingWorksBeforeInitAndAfterTheLastShutdown) {
  unsigned count = 0;
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
  start("2xa100-40gb");
  EXPECT_EQ(nvmlInit(), NVML_SUCCESS);
  EXPECT_EQ(nvmlInitWithFlags(0), NVML_SUCCESS);
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetCount(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex(2, &device), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex(0, nullptr), NVML_ERROR_INVALID_ARGUMENT);
  device = board();
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetIndex(device, &count), NVML_ERROR_UNINITIALIZED);
}

TEST_F(Mig, BoardsAreFoundByUuidSerialAndBusId) {
  start("8xa100-40gb,1xh200-141gb");
  std::set<std::string> uuids;
  for (unsigned i = 0; i < 9; ++i) {
    char uuid[96], serial[30];
    nvmlPciInfo_t pci;
    nvmlDevice_t found = nullptr;
    ASSERT_EQ(nvmlDeviceGetUUID(board(i), uuid, sizeof uuid), NVML_SUCCESS);
    ASSERT_EQ(nvmlDeviceGetSerial(board(i), serial, sizeof serial), NVML_SUCCESS);
    ASSERT_EQ(nvmlDeviceGetPciInfo_v3(board(i), &pci), NVML_SUCCESS);
    EXPECT_EQ(pci.pciDeviceId, i < 8 ? 0x20B010DEu : 0x233510DEu);
    EXPECT_EQ(nvmlDeviceGetHandleByUUID(uuid, &found), NVML_SUCCESS);
    EXPECT_EQ(found, board(i));
    EXPECT_EQ(nvmlDeviceGetHandleBySerial(serial, &found), NVML_SUCCESS);
    EXPECT_EQ(found, board(i));
    for (const char* id : {pci.busId, pci.busIdLegacy}) {
      EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2(id, &found), NVML_SUCCESS) << id;
      EXPECT_EQ(found, board(i));
    }
    uuids.insert(uuid);
    EXPECT_EQ(nvmlDeviceGetUUID(board(i), uuid, 8), NVML_ERROR_INSUFFICIENT_SIZE);
  }
  EXPECT_EQ(uuids.size(), 9u);
  nvmlDevice_t none = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByUUID("GPU-none", &none), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2("0000:FF:00.0", &none), NVML_ERROR_NOT_FOUND);
}

TEST_F(Mig, TheDriverPlacesHighAndTheGuidesExamplesHold) {
  start("1xa100-40gb");
  const auto place = [&](const std::vector<unsigned>& profiles) {
    std::vector<int> starts;
    std::vector<nvmlGpuInstance_t> made;
    for (const unsigned profile : profiles) {
      nvmlGpuInstance_t gi = nullptr;
      const nvmlReturn_t status = make_gi(gi, profile);
      EXPECT_TRUE(status == NVML_SUCCESS || status == NVML_ERROR_INSUFFICIENT_RESOURCES);
      starts.push_back(status == NVML_SUCCESS ? int(start_of(gi)) : -1);
      if (status == NVML_SUCCESS) made.push_back(gi);
    }
    for (const nvmlGpuInstance_t gi : made) EXPECT_EQ(nvmlGpuInstanceDestroy(gi), NVML_SUCCESS);
    return starts;
  };
  EXPECT_EQ(place({k1g, k2g, k4g}), (std::vector<int>{6, 4, 0}));
  EXPECT_EQ(place({k2g, k1g, k1g, k1g, k1g, k1g}), (std::vector<int>{4, 6, 3, 2, 1, 0}));
  EXPECT_EQ(place({k1g, k1g, k2g, k3g}).back(), -1);  // 3g must be specified first
  EXPECT_EQ(place({k3g, k1g, k2g, k1g}), (std::vector<int>{4, 3, 0, 2}));
}

TEST_F(Mig, PlacementsLimitsAndCapacityAreKept) {
  start("1xa100-40gb");
  nvmlGpuInstance_t gi = nullptr, other = nullptr;
  unsigned left = 0;
  EXPECT_EQ(make_gi(gi, 77), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(make_gi(gi, k2g, 1), NVML_ERROR_INVALID_ARGUMENT);
  const nvmlGpuInstancePlacement_t wrong_size{0, 3};
  EXPECT_EQ(nvmlDeviceCreateGpuInstanceWithPlacement(board(), k2g, &wrong_size, &gi), NVML_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(make_gi(gi, k3g, 4), NVML_SUCCESS);
  EXPECT_EQ(make_gi(other, k3g, 4), NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(make_gi(other, k7g), NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceRemainingCapacity(board(), k1g, &left), NVML_SUCCESS);
  EXPECT_EQ(left, 4u);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceRemainingCapacity(board(), k2g, &left), NVML_SUCCESS);
  EXPECT_EQ(left, 2u);
  ASSERT_EQ(make_gi(other, k1g_media, 0), NVML_SUCCESS);
  EXPECT_EQ(make_gi(other, k1g_media, 1), NVML_ERROR_INSUFFICIENT_RESOURCES);  // one set of media engines
}

TEST_F(Mig, AGpuInstanceGoesAfterItsComputeInstance) {
  start("1xa100-40gb");
  const Slice slice = make_slice(k3g, NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE);
  EXPECT_EQ(nvmlGpuInstanceDestroy(slice.gi), NVML_ERROR_IN_USE);
  EXPECT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_SUCCESS);
  EXPECT_EQ(nvmlComputeInstanceDestroy(slice.ci), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlGpuInstanceDestroy(slice.gi), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpuInstanceDestroy(slice.gi), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlGpuInstanceDestroy(reinterpret_cast<nvmlGpuInstance_t>(board())), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Mig, IdsAndUuidsChangeWhenTheSameShapeIsMadeAgain) {
  start("1xa100-40gb");
  const Slice first = make_slice(k2g, NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE, 0);
  EXPECT_EQ(nvmlComputeInstanceDestroy(first.ci), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpuInstanceDestroy(first.gi), NVML_SUCCESS);
  const Slice second = make_slice(k2g, NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE, 0);
  EXPECT_NE(first.uuid, second.uuid);
  EXPECT_NE(first.id, second.id);
  EXPECT_NE(first.device, second.device);
  unsigned id = 0;
  EXPECT_EQ(nvmlDeviceGetGpuInstanceId(first.device, &id), NVML_ERROR_INVALID_ARGUMENT);
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByUUID(first.uuid.c_str(), &device), NVML_ERROR_NOT_FOUND);
}

TEST_F(Mig, MigIndicesHaveHoles) {
  start("1xa100-40gb");
  std::vector<Slice> slices;
  for (int start_at = 0; start_at < 3; ++start_at)
    slices.push_back(make_slice(k1g, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE, start_at));
  EXPECT_EQ(nvmlComputeInstanceDestroy(slices[1].ci), NVML_SUCCESS);
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(board(), 0, &device), NVML_SUCCESS);
  EXPECT_EQ(device, slices[0].device);
  EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(board(), 1, &device), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(board(), 2, &device), NVML_SUCCESS);
  EXPECT_EQ(device, slices[2].device);
  EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(board(), 7, &device), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Mig, ComputeInstancesShareAGpuInstance) {
  start("1xa100-40gb");
  nvmlGpuInstance_t gi = nullptr;
  ASSERT_EQ(make_gi(gi, k4g), NVML_SUCCESS);
  nvmlComputeInstance_t a = nullptr, b = nullptr, c = nullptr;
  ASSERT_EQ(nvmlGpuInstanceCreateComputeInstance(gi, NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE, &a), NVML_SUCCESS);
  const nvmlComputeInstancePlacement_t at{3, 1}, illegal{1, 2};
  ASSERT_EQ(nvmlGpuInstanceCreateComputeInstanceWithPlacement(gi, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE, &at, &b),
            NVML_SUCCESS);
  EXPECT_EQ(nvmlGpuInstanceCreateComputeInstanceWithPlacement(gi, NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE, &illegal, &c),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlGpuInstanceCreateComputeInstance(gi, NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE, &c),
            NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(nvmlGpuInstanceCreateComputeInstance(gi, NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE, &c),
            NVML_ERROR_INVALID_ARGUMENT);  // 4g has no 3c
  unsigned left = 0, count = 0;
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceRemainingCapacity(gi, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE, &left),
            NVML_SUCCESS);
  EXPECT_EQ(left, 1u);
  nvmlComputeInstanceInfo_t info{};
  EXPECT_EQ(nvmlComputeInstanceGetInfo_v2(b, &info), NVML_SUCCESS);
  EXPECT_EQ(info.gpuInstance, gi);
  EXPECT_EQ(info.id, 1u);
  EXPECT_EQ(info.placement.start, 3u);
  nvmlDeviceAttributes_t attributes{};
  EXPECT_EQ(nvmlDeviceGetAttributes_v2(info.device, &attributes), NVML_SUCCESS);
  EXPECT_EQ(attributes.multiprocessorCount, 14u);
  EXPECT_EQ(attributes.computeInstanceSliceCount, 1u);
  EXPECT_EQ(attributes.gpuInstanceSliceCount, 4u);
  char name[96];
  EXPECT_EQ(nvmlDeviceGetName(info.device, name, sizeof name), NVML_SUCCESS);
  EXPECT_STREQ(name, "NVIDIA A100-SXM4-40GB MIG 1c.4g.20gb");
  nvmlComputeInstance_t listed[8];
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstances(gi, NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE, listed, &count),
            NVML_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(listed[0], a);
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceById(gi, 1, &c), NVML_SUCCESS);
  EXPECT_EQ(c, b);
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceById(gi, 5, &c), NVML_ERROR_NOT_FOUND);
}

TEST_F(Mig, HopperHasTheLargerComputeInstanceOfTheDoubleMemorySlice) {
  start("1xh200-141gb");
  nvmlGpuInstance_t gi = nullptr;
  ASSERT_EQ(make_gi(gi, 15), NVML_SUCCESS);
  nvmlComputeInstanceProfileInfo_t plain{}, larger{};
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, 0, 0, &plain), NVML_SUCCESS);
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, 7, 0, &larger), NVML_SUCCESS);
  EXPECT_EQ(plain.multiprocessorCount, 16u);
  EXPECT_EQ(larger.multiprocessorCount, 26u);
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, 1, 0, &plain), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, 8, 0, &plain), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Mig, VersionsOfArgumentsAreChecked) {
  start("1xa100-40gb");
  nvmlGpuInstanceProfileInfo_v2_t info{};
  info.version = 5;
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfoV(board(), 0, &info), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfoV(board(), NVML_GPU_INSTANCE_PROFILE_COUNT, &info),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfoV(board(), NVML_GPU_INSTANCE_PROFILE_6_SLICE, &info),
            NVML_ERROR_NOT_SUPPORTED);
  info.version = nvmlGpuInstanceProfileInfo_v2;
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfoByIdV(board(), k3g, &info), NVML_SUCCESS);
  EXPECT_STREQ(info.name, "MIG 3g.20gb");
  nvmlMemory_v2_t memory{};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(board(), &memory), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  nvmlGpuInstancePlacement_t placements[2];
  unsigned count = 2;
  EXPECT_EQ(nvmlDeviceGetGpuInstancePossiblePlacements_v2(board(), k1g, placements, &count),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 7u);
}

TEST_F(Mig, QueriesWorkWithMigOffAndChangesDoNot) {
  start("1xh200-141gb", "zero", false);
  nvmlGpuInstanceProfileInfo_t info{};
  unsigned count = 0, most = 9;
  EXPECT_EQ(nvmlDeviceGetGpuInstanceProfileInfo(board(), 0, &info), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetGpuInstancePossiblePlacements_v2(board(), k1g, nullptr, &count), NVML_SUCCESS);
  EXPECT_EQ(count, 7u);
  nvmlGpuInstance_t gi = nullptr;
  EXPECT_EQ(nvmlDeviceCreateGpuInstance(board(), k1g, &gi), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceRemainingCapacity(board(), k1g, &count), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetMaxMigDeviceCount(board(), &most), NVML_SUCCESS);
  EXPECT_EQ(most, 0u);
  nvmlReturn_t activation = NVML_ERROR_UNKNOWN;
  unsigned current = 0, pending = 0;
  EXPECT_EQ(nvmlDeviceSetMigMode(board(), NVML_DEVICE_MIG_ENABLE, &activation), NVML_SUCCESS);
  EXPECT_EQ(activation, NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetMigMode(board(), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 1u);
  EXPECT_EQ(nvmlDeviceCreateGpuInstance(board(), k1g, &gi), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceSetMigMode(board(), NVML_DEVICE_MIG_DISABLE, &activation), NVML_SUCCESS);
  EXPECT_EQ(activation, NVML_ERROR_IN_USE);
  EXPECT_EQ(nvmlDeviceSetMigMode(board(), 2, &activation), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Mig, AmpereNeedsToBeAloneForAModeChange) {
  start("1xa100-40gb", "zero", false);
  Child other([] {
    while (machine()) nvmlShutdown();
    if (nvmlInit_v2() != NVML_SUCCESS) return 1;
    Child::ready();
    return wait_for_ever();
  });
  ASSERT_TRUE(other.await_ready());
  nvmlReturn_t activation = NVML_SUCCESS;
  unsigned current = 0, pending = 0;
  EXPECT_EQ(nvmlDeviceSetMigMode(board(), 1, &activation), NVML_SUCCESS);
  EXPECT_EQ(activation, NVML_ERROR_IN_USE);
  EXPECT_EQ(nvmlDeviceGetMigMode(board(), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 0u);
  EXPECT_EQ(pending, 1u);
  other.kill();
  EXPECT_EQ(nvmlSimResetGpu(0), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetMigMode(board(), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 1u);
}

TEST_F(Mig, WithoutPrivilegeTheMachineCannotBeChanged) {
  start("1xa100-40gb", "zero", true, true);
  nvmlGpuInstance_t gi = nullptr;
  ASSERT_EQ(make_gi(gi, k1g), NVML_SUCCESS);
  ::setenv("NVML_SIM_UNPRIVILEGED", "1", 1);
  unsigned count = 0, current = 0;
  nvmlReturn_t activation = NVML_SUCCESS;
  nvmlMemory_t memory{};
  EXPECT_EQ(nvmlDeviceCreateGpuInstance(board(), k1g, &gi), NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(nvmlGpuInstanceDestroy(gi), NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceRemainingCapacity(board(), k1g, &count), NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(nvmlDeviceSetMigMode(board(), 0, &activation), NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(board(), &memory), NVML_ERROR_NO_PERMISSION);
  EXPECT_EQ(nvmlDeviceGetMigMode(board(), &current, &count), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetPowerUsage(board(), &count), NVML_SUCCESS);
}

TEST_F(Mig, UtilisationAndFansAreNotSupportedAsOnRealBoards) {
  start("1xa100-40gb");
  nvmlUtilization_t utilization{};
  unsigned value = 0;
  EXPECT_EQ(nvmlDeviceGetUtilizationRates(board(), &utilization), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetFanSpeed(board(), &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetEncoderUtilization(board(), &value, &value), NVML_ERROR_NOT_SUPPORTED);
  const Slice slice = make_slice(k1g, 0);
  unsigned long long energy = 0;
  EXPECT_EQ(nvmlDeviceGetTotalEnergyConsumption(slice.device, &energy), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetPowerUsage(slice.device, &value), NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(Mig, EveryCatalogueModelIsEmulatedWithItsWholeTable) {
  for (const auto& model : Catalog::builtin().models()) {
    start("1x" + model->name());
    std::set<unsigned> ids;
    for (unsigned constant = 0; constant < NVML_GPU_INSTANCE_PROFILE_COUNT; ++constant) {
      nvmlGpuInstanceProfileInfo_t info{};
      if (nvmlDeviceGetGpuInstanceProfileInfo(board(), constant, &info) != NVML_SUCCESS) continue;
      EXPECT_TRUE(ids.insert(info.id).second) << model->name() << " " << info.id;
      EXPECT_GT(info.memorySizeMB, 0u) << model->name();
      EXPECT_GT(info.multiprocessorCount, 0u) << model->name();
      unsigned left = 0;
      EXPECT_EQ(nvmlDeviceGetGpuInstanceRemainingCapacity(board(), info.id, &left), NVML_SUCCESS);
      EXPECT_EQ(left, info.instanceCount) << model->name() << " profile " << info.id;
    }
    EXPECT_EQ(ids.size(), model->profiles().size()) << model->name();
    EXPECT_GT(watts(), 0) << model->name();
    TearDown();
  }
}

}  // namespace
}  // namespace smartmig::nvsim
