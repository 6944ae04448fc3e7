"""A PostgreSQL server of its own in a folder, from Debian's package `postgresql`: reached by a socket there, by an account
without rights where the caller is root, and gone in the end. Credentials are in the file that PGPASSFILE names."""
import glob
import os
import subprocess

NOBODY = 65534


def programs():
    """The folder of the newest initdb; None where the package is not installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda p: int(p.split("/")[4]))
    return os.path.dirname(found[-1]) if found else None


class Server:
    def __init__(self, folder, wanted=True, settings=""):
        self.folder, self.wanted, self.settings = os.path.join(folder, "server"), wanted, settings

    def __enter__(self):
        if not self.wanted:
            return self
        assert programs(), "no PostgreSQL server is installed here (package postgresql)"
        os.chmod(os.path.dirname(self.folder), 0o755)
        os.mkdir(self.folder)
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        secret = os.path.join(os.path.dirname(self.folder), "password")
        with open(secret, "w") as file:
            file.write("secret\n")
        self.run("initdb", "-N", "-D", self.data, "-U", "hone", "--auth=scram-sha-256", f"--pwfile={secret}", "-E", "UTF8",
                 "--locale=C")
        with open(os.path.join(self.data, "postgresql.conf"), "a") as file:
            file.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n{self.settings}\n")
        self.run("pg_ctl", "-s", "-w", "-D", self.data, "-l", os.path.join(self.folder, "log"), "start")
        passfile = os.path.join(os.path.dirname(self.folder), "pgpass")
        with open(os.open(passfile, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("*:*:*:hone:secret\n")
        os.environ["PGPASSFILE"] = passfile
        return self

    def __exit__(self, *_):
        if self.wanted:
            self.run("pg_ctl", "-s", "-m", "immediate", "-D", self.data, "stop")

    @property
    def data(self):
        return os.path.join(self.folder, "data")

    def run(self, program, *arguments):
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"] if os.geteuid() == 0 else []
        subprocess.run([*user, os.path.join(programs(), program), *arguments], check=True, cwd="/", stdout=subprocess.DEVNULL)

    def psql(self, sql):
        return subprocess.run([os.path.join(programs(), "psql"), "-qAt", "-v", "ON_ERROR_STOP=1", self.urls("public")[1], "-c", sql],
                              check=True, capture_output=True, text=True).stdout

    def urls(self, schema):
        """The same place, with tables of its own, as Optuna (SQLAlchemy with psycopg) and as hone name it."""
        rest = f"///postgres?host={self.folder}&user=hone&options=-csearch_path%3D{schema}"
        if schema != "public":
            self.psql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        return "postgresql+psycopg:" + rest, "postgresql:" + rest
