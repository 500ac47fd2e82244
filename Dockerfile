# Where nvcc does not exist, as on a Mac: a Linux that has what the course needs. README.md has the commands.
# The course itself is not copied in; it is mounted at /course, so that you edit it with your own editor.
FROM python:3.11-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends g++ make && rm -rf /var/lib/apt/lists/*
WORKDIR /course
CMD ["bash"]
