// A PostgreSQL server of the tests' own, from Debian's package `postgresql`: a cluster in a folder of its own, reached
// by a socket there, by an account without rights where the tests run as root. It is made once a program.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "study/storages/postgres_database.h"
#include "tests/study/scratch.h"

namespace hone {

class PostgresServer {
 public:
  // Null where the package is not installed.
  static PostgresServer* get() {
    static const std::unique_ptr<PostgresServer> server = [] {
      std::unique_ptr<PostgresServer> made;
      if (const std::string programs = find_programs(); !programs.empty()) made.reset(new PostgresServer(programs));
      return made;
    }();
    return server.get();
  }
  ~PostgresServer() {
    if (::getpid() == owner_) stop("immediate");
  }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // A place without credentials (PGPASSFILE has them), with tables of its own: a schema of this name.
  std::string place(const std::string& schema) {
    PostgresDatabase(address(""), {}).run({fmt::format("CREATE SCHEMA IF NOT EXISTS \"{}\"", schema)});
    return address("&options=-csearch_path%3D" + schema);
  }
  // A place that nobody used before.
  std::string new_place() { return place(fmt::format("s{}_{}", ::getpid(), ++places_)); }
  std::string address(const std::string& more) const {
    return fmt::format("postgresql:///postgres?host={}&user=hone{}", folder_.file("run"), more);
  }
  std::string psql(const std::string& place, const std::string& sql) const {  // what it prints, columns by |
    const std::string out = folder_.file("psql");
    const std::string command =
        fmt::format("{}/psql -qAt -v ON_ERROR_STOP=1 '{}' -c \"{}\" > {}", programs_, place, sql, out);
    if (std::system(command.c_str()) != 0) ADD_FAILURE() << command;
    std::ifstream file(out);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

  void start() {
    as_owner(fmt::format("{}/pg_ctl -s -w -t 60 -D {} -l {} start", programs_, data(), folder_.file("run/log")));
  }
  void stop(const std::string& mode) {
    as_owner(fmt::format("{}/pg_ctl -s -w -m {} -D {} stop", programs_, mode, data()));
  }
  // Ends all of its processes as a crash would, at once.
  void crash() { stop("immediate"); }

  static constexpr const char* kPassword = "pa:ss/wo@rd";

 private:
  static std::string find_programs() {
    std::error_code none;
    std::string newest;
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none))
      if (std::filesystem::exists(version.path() / "bin/initdb"))
        newest = std::max(newest, (version.path() / "bin").string());
    return newest;
  }

  explicit PostgresServer(std::string programs) : programs_(std::move(programs)) {
    namespace fs = std::filesystem;
    fs::create_directory(folder_.file("run"));
    fs::permissions(fs::path(folder_.file("run")).parent_path(), fs::perms(0755));
    if (::geteuid() == 0 && ::chown(folder_.file("run").c_str(), kNobody, kNobody) != 0) ADD_FAILURE() << "chown";
    std::ofstream(folder_.file("password")) << kPassword << "\n";
    as_owner(fmt::format("{}/initdb -N -D {} -U hone --auth=scram-sha-256 --pwfile={} -E UTF8 --locale=C > /dev/null",
                         programs_, data(), folder_.file("password")));
    // Tests survive crashes of the server's processes, not of the machine: the disk need not be waited for.
    as_owner(fmt::format(
        "printf \"listen_addresses = ''\\nunix_socket_directories = '{}'\\nfsync = off\\n\" >> {}/postgresql.conf",
        folder_.file("run"), data()));
    start();
    const std::string passfile = folder_.file("pgpass");  // colons and backslashes are written with a backslash
    std::ofstream(passfile) << "*:*:*:hone:pa\\:ss/wo@rd\n";
    fs::permissions(passfile, fs::perms(0600));
    ::setenv("PGPASSFILE", passfile.c_str(), 1);
  }

  std::string data() const { return folder_.file("run/data"); }
  void as_owner(const std::string& command) const {
    const std::string run =
        ::geteuid() == 0 ? fmt::format("setpriv --reuid={} --regid={} --clear-groups -- ", kNobody, kNobody) : "";
    std::string quoted;
    for (char c : command) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    const std::string whole = fmt::format("cd / && {}sh -c '{}'", run, quoted);
    if (std::system(whole.c_str()) != 0) ADD_FAILURE() << whole;
  }

  static constexpr int kNobody = 65534;
  const pid_t owner_ = ::getpid();
  ScratchFolder folder_;
  std::string programs_;
  int places_ = 0;
};

#define HONE_NEEDS_POSTGRES() \
  if (!PostgresServer::get()) \
  GTEST_SKIP() << "no PostgreSQL server is installed here (package postgresql; scripts/deps.sh build)"

}  // namespace hone
