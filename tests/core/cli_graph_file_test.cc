// SPDX-License-Identifier: Apache-2.0
//
// Files read, rewritten and written again: untouched bytes stay, assumptions are not written.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "src/cli/graph_file.h"
#include "src/cli/output_file.h"
#include "src/cli/planned.h"
#include "wire_builder.h"

namespace tflms::cli {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test.
class CliGraphFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("tflms-cli-" + std::string(info->name()) + "-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Save(const std::string& name, std::string_view content) const {
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }
  std::string Content(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename());
    return names;
  }

  fs::path folder_;
};

// x -> a -> b -> c -> d, and d reads a again. Nothing is placed.
std::string Unplaced() {
  const auto node = [](std::string_view name, std::string_view op,
                       const std::vector<std::string>& inputs) {
    NodeBytes bytes(name, op);
    for (const std::string& input : inputs) bytes.Input(input);
    return bytes.Type(op == "Placeholder" ? "dtype" : "T", kFloat).ShapeOf("shape", {1024, 1024});
  };
  return GraphBytes({node("x", "Placeholder", {}), node("a", "Tanh", {"x"}),
                     node("b", "Tanh", {"a"}), node("c", "Tanh", {"b"}), node("e", "Tanh", {"c"}),
                     node("d", "AddV2", {"e", "a"})});
}

GraphFile MustRead(const std::string& path, const ReadSettings& settings = {}) {
  Result<GraphFile> file = ReadGraphFile(path, settings);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? std::move(*file) : GraphFile();
}

TEST_F(CliGraphFile, EveryFileOfTestDataPassesByteForByte) {
  for (const std::string& name : DataFiles()) {
    const GraphFile file = MustRead(Save(name, ReadData(name)));
    std::vector<Graph> graphs;
    for (const Unit& unit : file.units) graphs.push_back(unit.graph);
    const Result<std::string> written = WriteGraphFile(file, graphs);
    ASSERT_TRUE(written.ok()) << written.status().message();
    EXPECT_EQ(*written, ReadData(name)) << name;
  }
}

TEST_F(CliGraphFile, NodesWithoutADeviceAreTakenToBeOnTheAccelerator) {
  const std::string path = Save("g.pb", Unplaced());
  const GraphFile file = MustRead(path);
  EXPECT_EQ(file.place, "/device:GPU:0");
  EXPECT_EQ(file.units[0].assumed_nodes, 6);
  EXPECT_EQ(file.units[0].graph.kind_of(0), DeviceKind::kAccelerator);
  ReadSettings none;
  none.place = "none";
  EXPECT_EQ(MustRead(path, none).units[0].graph.node(0).device, kNoDevice);
}

TEST_F(CliGraphFile, PlacedGraphsAreTakenAsTheyAre) {
  const GraphFile file =
      MustRead(Save("g.pb", GraphBytes({Big("x", "Placeholder", {}), NodeBytes("y", "NoOp")})));
  EXPECT_EQ(file.place, "");
  EXPECT_EQ(file.units[0].graph.node(1).device, kNoDevice);
}

TEST_F(CliGraphFile, TheAssumptionIsNotWritten) {
  Options options;
  options.swapout_threshold = 1;
  const GraphFile file = MustRead(Save("g.pb", Unplaced()));
  const auto planned = PlanGraph(options, "g", file.units[0].graph);
  ASSERT_TRUE(planned.ok()) << planned.status().message();
  ASSERT_EQ(planned->planned[0].report.outcome, tflms::Outcome::kRewritten);
  const Result<std::string> written = WriteGraphFile(file, {planned->after});
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->find("GPU"), std::string::npos);
  EXPECT_NE(written->find("/device:CPU:0"), std::string::npos);
  const GraphFile again = MustRead(Save("h.pb", *written));
  EXPECT_TRUE(CompareNodeBytes(file.units[0], again.units[0]).ok());
  EXPECT_EQ(Frame(file), Frame(again));
}

TEST_F(CliGraphFile, AChangedAttributeIsSeen) {
  const GraphFile file = MustRead(Save("a.pb", Unplaced()));
  std::string other = Unplaced();
  const size_t at = other.find("Tanh");
  ASSERT_NE(at, std::string::npos);
  other.replace(at, 4, "Tanx");
  const Status status = CompareNodeBytes(file.units[0], MustRead(Save("b.pb", other)).units[0]);
  EXPECT_EQ(status.code(), StatusCode::kLawBroken);
  EXPECT_NE(status.message().find("`a`"), std::string::npos) << status.message();
}

TEST_F(CliGraphFile, FaultsNameTheFile) {
  for (const std::string& path : {Path("missing.pb"), Save("empty.pb", ""), folder_.string(),
                                  Save("cut.pb", Unplaced().substr(0, 40))}) {
    const Result<GraphFile> file = ReadGraphFile(path, {});
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.status().message().find(path), 0u) << file.status().message();
  }
  ReadSettings settings;
  settings.fetch = {"nobody"};
  EXPECT_FALSE(ReadGraphFile(Save("g.pb", Unplaced()), settings).ok());
}

TEST_F(CliGraphFile, FilesAppearWholeOrNotAtAll) {
  ASSERT_TRUE(WriteWhole(Path("a"), "one").ok());
  ASSERT_TRUE(WriteWhole(Path("a"), "two").ok());
  EXPECT_FALSE(WriteWhole(Path("no-such-folder/a"), "x").ok());
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
  fs::create_directories(folder_ / "model" / "variables");
  Save("model/saved_model.pb", "old");
  Save("model/fingerprint.pb", "f");
  Save("model/variables/v", "1");
  ASSERT_TRUE(WriteSavedModel(Path("model"), Path("new/"), "content").ok());
  EXPECT_TRUE(fs::exists(folder_ / "new" / "variables" / "v"));
  EXPECT_FALSE(fs::exists(folder_ / "new" / "fingerprint.pb"));
  EXPECT_FALSE(WriteSavedModel(Path("model"), Path("new"), "content").ok()) << "is there already";
  EXPECT_EQ(Names().size(), 3u);
}

TEST_F(CliGraphFile, LinksAreFollowedAndStay) {
  Save("file", "old");
  fs::permissions(folder_ / "file", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("file", folder_ / "near");
  fs::create_symlink(folder_ / "near", folder_ / "far");
  fs::create_symlink("later", folder_ / "dangling");
  fs::create_symlink("loop", folder_ / "loop");
  ASSERT_TRUE(WriteWhole(Path("far"), "new").ok());
  EXPECT_EQ(Content("file"), "new");
  EXPECT_EQ(fs::status(folder_ / "file").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(WriteWhole(Path("dangling"), "made").ok());
  EXPECT_EQ(Content("later"), "made");
  EXPECT_FALSE(WriteWhole(Path("loop"), "x").ok());
  for (const char* link : {"near", "far", "dangling", "loop"}) {
    EXPECT_TRUE(fs::is_symlink(folder_ / link)) << link;
  }
  EXPECT_EQ(Names().size(), 6u) << "nothing is left beside them";
  Save("saved_model.pb", "old");
  fs::create_symlink("model", folder_ / "to-model");
  fs::create_directories(folder_ / "from");
  ASSERT_TRUE(WriteSavedModel(Path("from"), Path("to-model/"), "content").ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "to-model"));
  EXPECT_EQ(Content("model/saved_model.pb"), "content");
}

TEST_F(CliGraphFile, PipesAreWrittenIntoAndSocketsRefused) {
  const std::string pipe = Path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(WriteWhole(pipe, "through").ok());
  std::array<char, 16> got{};
  EXPECT_EQ(::read(reader, got.data(), got.size()), 7);
  EXPECT_STREQ(got.data(), "through");
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));

  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = Path("s");
  ASSERT_LT(name.size(), sizeof(address.sun_path));
  std::copy(name.begin(), name.end(), address.sun_path);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const Status status = WriteWhole(name, "x");
  ::close(socket);
  EXPECT_NE(status.message().find("neither a file nor a pipe"), std::string::npos);
  EXPECT_TRUE(fs::is_socket(name));
}

// Reading /proc/self/mem from its start fails with an I/O error.
TEST_F(CliGraphFile, AFileThatCannotBeReadIsAnErrorThatNamesIt) {
  const Result<GraphFile> file = ReadGraphFile("/proc/self/mem", {});
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().message(), "/proc/self/mem: cannot be read");
}

}  // namespace
}  // namespace tflms::cli
