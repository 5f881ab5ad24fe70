# fedrepro on PyTorch for processors. TORCH_INDEX: the package index for CPU that PyTorch's installation page names.
# docker build --build-arg TORCH_INDEX=... -t fedrepro . && docker run --rm -v "$PWD:/work" fedrepro run cpcfl --profile smoke
FROM python:3.11-slim
ARG TORCH_INDEX
COPY . /src
RUN pip install --no-cache-dir --constraint /src/constraints.txt --index-url "${TORCH_INDEX:?is not set}" torch torchvision \
    && pip install --no-cache-dir --constraint /src/constraints.txt /src \
    && rm -r /src
WORKDIR /work
ENTRYPOINT ["fedrepro"]
