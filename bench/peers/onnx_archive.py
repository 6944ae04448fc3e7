"""Pack a folder into a tar that depends on nothing but its files' names and bytes, as tests/data/onnx.tar is.

usage: onnx_archive.py DIR ARCHIVE

Names are sorted; there are no times, no owners and no entries for folders. Not compressed: git does that, and keeps
only what differs of a version.
"""
import pathlib
import sys
import tarfile


def pack(folder, archive):
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name in names:
            entry = tarfile.TarInfo(name)  # mode 0644; time and owner 0
            entry.size = (folder / name).stat().st_size
            with (folder / name).open("rb") as file:
                tar.addfile(entry, file)


def unpack(archive, folder):
    with tarfile.open(archive) as tar:
        tar.extractall(folder)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pack(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
