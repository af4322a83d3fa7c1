# The command line and the live monitor.
#   docker build -t spagree .
#   docker run --rm -v "$PWD:/data" spagree score labels.csv
#   docker run --rm -p 127.0.0.1:8765:8765 -v spagree:/data -v "$PWD/token:/run/token:ro" \
#     spagree monitor --host 0.0.0.0 --store /data/annotations.sqlite --token-file /run/token
FROM python:3.13-slim
COPY . /src
RUN pip install --no-cache-dir '/src[report,monitor,excel,postgres,zstd]' && rm -rf /src \
 && useradd --create-home spagree && mkdir /data && chown spagree /data
USER spagree
WORKDIR /data
EXPOSE 8765
ENTRYPOINT ["spagree"]
CMD ["--help"]
