"""Puts the shared library into the wheel: that of TRAINYARD_LIBRARY, else of ../../build."""
import os
import pathlib
import shutil

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent


class WithLibrary(build_py):
    def run(self):
        shutil.rmtree(self.build_lib, ignore_errors=True)  # of a build before, of other files
        super().run()
        named = os.environ.get("TRAINYARD_LIBRARY") or HERE.parents[1] / "build/libtrainyard.so"
        library = pathlib.Path(named).resolve()
        if not library.is_file():
            raise SystemExit(f"{library} is not there: build it (meson setup build; ninja -C build)"
                             ", or name a libtrainyard.so in TRAINYARD_LIBRARY")
        shutil.copyfile(library, pathlib.Path(self.build_lib, "trainyard", "libtrainyard.so"))


class ForMachine(bdist_wheel):
    """For any Python 3 on one kind of machine: the library is loaded, not linked."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class Machine(Distribution):
    def has_ext_modules(self):
        return True


setup(distclass=Machine, cmdclass={"build_py": WithLibrary, "bdist_wheel": ForMachine})
