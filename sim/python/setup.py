"""Puts the shared library and the program into the wheel: those of TRAINYARD_LIBRARY and
TRAINYARD_PROGRAM, else of ../../build. TRAINYARD_PLATFORM names the machines that they run on."""
import os
import pathlib
import shutil

from setuptools import Distribution, setup  # before distutils, which it brings
from setuptools.command.build_py import build_py
from distutils.command.build_scripts import build_scripts
from wheel.bdist_wheel import bdist_wheel

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"


def built(variable, name):
    """What the C build made."""
    path = pathlib.Path(os.environ.get(variable) or BUILD / name).resolve()
    if not path.is_file():
        raise SystemExit(f"{path} is not there: build it (meson setup build; ninja -C build), or name "
                         f"a {name} in {variable}")
    return path


class WithLibrary(build_py):
    def run(self):
        shutil.rmtree(self.build_lib, ignore_errors=True)  # of a build before, of other files
        super().run()
        shutil.copyfile(built("TRAINYARD_LIBRARY", "libtrainyard.so"),
                        pathlib.Path(self.build_lib, "trainyard", "libtrainyard.so"))


class WithProgram(build_scripts):
    """The program is no text, so setuptools must not look for a first line to change."""

    def run(self):
        self.mkpath(self.build_dir)
        copy = pathlib.Path(self.build_dir, "trainyard")
        shutil.copyfile(built("TRAINYARD_PROGRAM", "trainyard"), copy)
        copy.chmod(0o755)


class ForMachine(bdist_wheel):
    """For any Python 3 on one kind of machine: the library is loaded, not linked."""

    def get_tag(self):
        return "py3", "none", os.environ.get("TRAINYARD_PLATFORM") or super().get_tag()[2]


class Machine(Distribution):
    def has_ext_modules(self):
        return True


setup(distclass=Machine, scripts=["trainyard"],
      cmdclass={"build_py": WithLibrary, "build_scripts": WithProgram, "bdist_wheel": ForMachine})
