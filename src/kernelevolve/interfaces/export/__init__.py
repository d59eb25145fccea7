"""A winner as a folder that works without kernelevolve."""
