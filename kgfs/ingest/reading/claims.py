from kgfs.domain.knowledge import FoundClaim


def found_claim(raw, quote, source, grounds, domains, min_tokens):
    why = "quote not found" if quote is None else "too short" if len(raw.claim.split()) < min_tokens else ""
    return FoundClaim(
        raw.claim,
        raw.role,
        raw.domain,
        raw.actor,
        "other",
        raw.timeframe,
        "explicit",
        "present",
        raw.scope,
        raw.authority,
        raw.confidence,
        quote,
        (),
        why,
    )
