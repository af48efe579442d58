"""`--token`: the password that clients of a server must send."""

from __future__ import annotations


def token_of(token: str | None, where: str, only_this_machine: bool) -> str | None:
    """Return the given token, or a generated one; `where` is the option with the listening address."""
    import secrets

    from orienteer.errors import InputError
    from orienteer.web.security import MIN_TOKEN_CHARS, MIN_TOKEN_VARIETY

    if token is not None and not token.strip():
        raise InputError("--token is empty; give one, or have one generated with --token auto")
    if token is not None and token != "auto" and len(token) < MIN_TOKEN_CHARS:
        raise InputError(
            f"--token has {len(token)} characters and could be guessed; it needs {MIN_TOKEN_CHARS}, or say --token auto"
        )
    if token is not None and token != "auto" and len(set(token)) < MIN_TOKEN_VARIETY:
        raise InputError(
            f"--token has {len(set(token))} different characters and could be guessed; it needs {MIN_TOKEN_VARIETY}, "
            "or say --token auto"
        )
    if token is None and not only_this_machine:
        raise InputError(f"{where} can be reached from other machines: give --token T, or --token auto")
    return secrets.token_urlsafe(18) if token == "auto" else token
