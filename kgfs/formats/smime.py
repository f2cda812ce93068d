"""Signed mails whose message is within the signature (S/MIME, ``application/pkcs7-mime``)."""

from __future__ import annotations

MEDIA_TYPES = ("application/pkcs7-mime", "application/x-pkcs7-mime")


def signed_message(content: bytes) -> bytes | None:
    """Return the message that is signed within these bytes. None if they are encrypted, damaged, or only a signature.

    The signature is not verified.
    """
    from asn1crypto import cms

    try:
        info = cms.ContentInfo.load(content)
        if info["content_type"].native != "signed_data":
            return None
        found = info["content"]["encap_content_info"]["content"].native
    except (ValueError, TypeError, KeyError, AttributeError):  # as the library tells damage
        return None
    return found if isinstance(found, bytes) else None
