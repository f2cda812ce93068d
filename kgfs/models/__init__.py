"""Guess, by models: embedder, grammar, token counter and extractors. Their output is a proposal, which other rooms store.

Only ``ingest`` calls this room, in the worker process. The mount never imports the runtimes of this room. Runtimes
(onnxruntime, spaCy, tokenizers, tiktoken) are imported at their first use. An object may be used by one thread at a
time unless its docstring says otherwise. A missing or wrong model file raises ModelMissingError, which names the
package that carries the file.
"""
