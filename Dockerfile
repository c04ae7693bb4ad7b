# The server in a container. docs/operations.md says how to use it.
FROM python:3.12.12-slim-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends git make \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN make install web \
 && .venv/bin/python -m hatchling build --target wheel --directory /wheels

FROM python:3.12.12-slim-bookworm
RUN apt-get update \
 && apt-get install -y --no-install-recommends git \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home --shell /usr/sbin/nologin anycowork \
 && install --directory --owner=anycowork --group=anycowork --mode=0700 /data \
 && install --directory --owner=anycowork --group=anycowork /workspaces
COPY requirements/runtime.txt /tmp/runtime.txt
RUN pip install --no-cache-dir --require-hashes --requirement /tmp/runtime.txt \
 && rm /tmp/runtime.txt
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-deps /wheels/*.whl \
 && rm -r /wheels
USER anycowork
ENV ANYCOWORK_DATA_DIR=/data
VOLUME ["/data"]
EXPOSE 8484
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8484/healthz', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["anycowork"]
CMD ["serve", "--host", "0.0.0.0", "--no-open"]
