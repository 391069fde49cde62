#!/usr/bin/env bash
# vktrain.nn, vktrain.optim and tensors: test_python.sh with another file.
exec "$(dirname "$0")/test_python.sh" "$@" test_python_nn.py
