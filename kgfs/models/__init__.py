"""Models guess: embedder, grammar, tokenizer, extractors. They keep nothing; what they say is kept by others.

Called by ``ingest`` in the worker process only; the mount never imports this room's runtimes. Runtimes (onnxruntime,
spaCy, tokenizers, tiktoken) are imported when first used. Objects are safe for one thread at a time unless they say
otherwise. Missing or wrong model files raise ModelMissingError naming the package that carries them.
"""
