"""The endpoint, region and credentials for AWS or an S3-compatible store, found as the AWS tools find them.

AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
the profile AWS_PROFILE of ~/.aws/credentials and ~/.aws/config
the role of the machine, unless AWS_EC2_METADATA_DISABLED is true

Nothing of this is stored in the crawl folder.
"""

from __future__ import annotations

import configparser
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orienteer.errors import CrawlFolderError

_SECRETS = ("access_key_id", "secret_access_key", "session_token")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
# Any of these shows that the machine has a role.
_ROLES = ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")
_ANONYMOUS = "AWS_SKIP_SIGNATURE"


@dataclass(frozen=True)
class AwsAccount:
    """Endpoint, region and credentials; "" leaves it to the defaults."""

    endpoint: str
    region: str
    secrets: dict[str, str] = field(repr=False)

    @classmethod
    def found(cls, endpoint: str | None, region: str | None) -> AwsAccount:
        """Take each value from the settings, else from the environment, else from the files of AWS."""
        profile, environment = _profile(), os.environ
        in_environment = {name: environment[key] for name in _SECRETS if (key := _variable(name)) in environment}
        secrets = in_environment if "access_key_id" in in_environment else _secrets_of(profile)
        has_no_role_service = environment.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true"
        if not secrets and has_no_role_service and not any(name in environment for name in (*_ROLES, _ANONYMOUS)):
            raise CrawlFolderError("no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
        return cls(
            endpoint or _first(_ENDPOINTS) or profile.get("endpoint_url", ""),
            region or _first(_REGIONS) or profile.get("region", ""),
            secrets,
        )

    def settings(self) -> dict[str, Any]:
        """Return the options for obstore. Both names of the endpoint are set, or the environment would win."""
        where = {"endpoint": self.endpoint, "aws_endpoint_url_s3": self.endpoint, "region": self.region}
        return {name: value for name, value in where.items() if value} | self.secrets


def without_secrets(text: str) -> str:
    """Return a message of a store with credentials that it quotes replaced."""
    secrets = _secrets_of(_profile())
    values = [os.environ.get(_variable(name), "") for name in _SECRETS] + list(secrets.values())
    for value in filter(None, values):
        text = text.replace(value, "…")
    return text


def _variable(name: str) -> str:
    return f"AWS_{name.upper()}"


def _first(names: tuple[str, ...]) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def _secrets_of(profile: dict[str, str]) -> dict[str, str]:
    return {name: profile[f"aws_{name}"] for name in _SECRETS if profile.get(f"aws_{name}")}


def _profile() -> dict[str, str]:
    """Return the chosen profile from the files of AWS; empty if they cannot be read."""
    name = os.environ.get("AWS_PROFILE") or "default"
    found: dict[str, str] = {}
    for variable, file, heading in (
        ("AWS_CONFIG_FILE", "config", name if name == "default" else f"profile {name}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", name),
    ):
        parser = configparser.RawConfigParser()
        try:
            path = os.environ.get(variable) or Path("~/.aws").expanduser() / file
            parser.read(path, encoding="utf-8")
        except (OSError, RuntimeError, ValueError, configparser.Error):
            continue
        if parser.has_section(heading):
            found |= dict(parser[heading])
    return found
