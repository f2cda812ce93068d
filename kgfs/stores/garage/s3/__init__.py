"""Keep the garage in a bucket of any server with the S3 API: objects and ledger in the bucket, and a local cache of what
is read often.

All calls block, and are safe for any number of threads and processes. Callers that must not block call in a thread of
their own.
"""
