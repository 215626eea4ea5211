# Searches the pictures in a folder of this machine; the index is kept in a volume.
#   docker build -f deploy/serve.Dockerfile -t sketchseek .
#   docker run -p 127.0.0.1:8000:8000 -v ~/Pictures:/pictures:ro -v sketchseek:/index sketchseek
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential cmake && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[server,expansion,pdf]" && rm -r /wheels \
  && useradd --create-home sketchseek && mkdir /index /pictures && chown sketchseek /index
USER sketchseek
ENV SKETCHSEEK_INDEX=/index/pictures
VOLUME ["/index", "/pictures"]
EXPOSE 8000
HEALTHCHECK --interval=10s --start-period=60s --timeout=5s CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/api/health')"]
CMD ["sh", "-c", "sketchseek index /pictures && exec sketchseek serve --host 0.0.0.0 --port 8000"]
