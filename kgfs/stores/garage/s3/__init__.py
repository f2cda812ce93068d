"""The garage in a bucket of any S3 API. Objects and ledger stand in the bucket; what is read often, in a local cache.

Blocking and safe for any number of threads and processes; those who must not wait call it in a thread of their own.
"""
