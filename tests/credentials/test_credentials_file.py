"""The syntax of a credentials file; and no error message contains one of its secrets."""

from __future__ import annotations

import base64
import os
import pickle
from pathlib import Path

import pytest
import trustme

from orienteer.credentials.credentials_file import read_credentials
from orienteer.credentials.keyring import Keyring, says_logout
from orienteer.errors import InputError
from orienteer.pages.outcome import Outcome
from orienteer.responses.response import PageRequest, Response
from tests.docs.blocks import document
from tests.tables import over_rows

SECRET = "hush-hush-1234"
NAMES = ("API_KEY", "SESSION", "WIKI_PASSWORD", "KEY_PASSWORD")
COOKIES = f"a.test\tFALSE\t/\tTRUE\t0\tsid\t{SECRET}\n"
FULL_FILE = """
["a.test"]
headers = { X-Key = "${KEY}", Cookie = "one=1; two=2" }
bearer = "${KEY}"
cookies = "cookies.txt"

["http://B.test:8080/"]
basic = { user = "me", password = "$${KEY}" }
[“”]
""".replace("[“”]\n", "")
LOGIN = (
    """
["http://a.test"]
[“http://a.test”.login]
page = "/in"
fields = { user = "me", pass = "%s" }
""".replace("“", '"').replace("”", '"')
    % SECRET
)


def sent(access, url: str) -> dict[str, str]:
    secrets = Keyring(access).secrets_for(url)
    return {} if secrets is None else dict(secrets.headers)


def test_credentials_are_sent_to_their_own_origin(write_access) -> None:
    write_access(COOKIES, "cookies.txt")
    access = read_credentials(write_access(FULL_FILE), environment={"KEY": SECRET})
    assert access.origins == ("https://a.test", "http://b.test:8080")
    cookie = f"one=1; two=2; sid={SECRET}"
    assert sent(access, "https://a.test/x") == {
        "X-Key": SECRET,
        "Authorization": f"Bearer {SECRET}",
        "Cookie": cookie,
    }
    packed = base64.b64encode(b"me:${KEY}").decode()
    assert sent(access, "http://b.test:8080/") == {"Authorization": f"Basic {packed}"}
    for other in (
        "http://a.test/",
        "https://a.test:8443/",
        "https://b.test:8080/",
        "https://x.a.test/",
        "https://a.test.evil/",
    ):
        assert sent(access, other) == {}


def test_no_repr_contains_a_secret(write_access) -> None:
    write_access(COOKIES, "cookies.txt")
    access = read_credentials(write_access(FULL_FILE + LOGIN), environment={"KEY": SECRET})
    keyring = Keyring(access)
    request = PageRequest("https://a.test/", 0, secrets=keyring.secrets_for("https://a.test/"))
    step = keyring.next_step("http://a.test/")
    assert step is not None
    objects = [access, *access.grants.values(), access.grants["http://a.test"].login, keyring, request, step]
    objects += [
        keyring.request_of(step, "http://a.test/"),
        Response(request, Outcome.OK),
        pickle.loads(pickle.dumps(request)),
    ]
    assert SECRET not in "".join(f"{one!r} {one}" for one in objects)
    assert repr(request.secrets) == "<Secrets for https://a.test>"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_file_that_others_can_read_is_refused(write_access, mode: int) -> None:
    with pytest.raises(InputError, match="others can read it, or write it; `chmod 600 "):
        read_credentials(write_access(FULL_FILE, mode=mode))


def test_files_that_it_names_must_be_private(write_access) -> None:
    write_access(COOKIES, "cookies.txt", mode=0o644)
    with pytest.raises(InputError, match=r"cookies.txt: others can read it"):
        read_credentials(write_access(FULL_FILE), environment={"KEY": SECRET})


def test_a_file_in_the_crawl_folder_is_refused(write_access, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be outside the crawl folder"):
        read_credentials(write_access(FULL_FILE), folder=tmp_path)


def test_it_may_come_from_a_pipe(tmp_path: Path) -> None:
    """As with `--credentials <(pass show crawl)`."""
    reading, writing = os.pipe()
    os.write(writing, b'["http://a.test"]\nbearer = "abc"\n')
    os.close(writing)
    assert read_credentials(Path(f"/dev/fd/{reading}"), folder=tmp_path).origins == ("http://a.test",)
    os.close(reading)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f'["a.test"]\nbearer = "{SECRET}', r"invalid TOML \(at "),
        (f'["a.test"]\nbearer = {SECRET}\n', r"invalid TOML \(at line 2"),
        ("", "it has no tables"),
        (f'bearer = "{SECRET}"', "bearer is outside a table"),
        (f'["a.test/path"]\nbearer = "{SECRET}"', "named after scheme and host"),
        (f'["me@a.test"]\nbearer = "{SECRET}"', "named after scheme and host"),
        (f'["ftp://a.test"]\nbearer = "{SECRET}"', "named after scheme and host"),
        (f'["a.test"]\nbarer = "{SECRET}"', "did you mean 'bearer'"),
        ('["a.test"]\nbearer = 123456789', "bearer must be a text"),
        (f'["a.test"]\nbearer = "{SECRET}\\n"', "bearer must be one line"),
        ('["a.test"]\nbearer = "${UNSET_HERE}"', "the environment variable UNSET_HERE, which is not set"),
        (f'["a.test"]\nheaders = "{SECRET}"', "headers must be names with texts"),
        (f'["a.test"]\nheaders = {{ Host = "{SECRET}" }}', "the header 'Host' cannot be set"),
        (f'["a.test"]\nheaders = {{ "a b" = "{SECRET}" }}', "the header 'a b' cannot be set"),
        (f'["a.test"]\nbasic = {{ user = "me" }}\nbearer = "{SECRET}"', "exclude each other"),
        (f'["a.test"]\nbasic = {{ user = "{SECRET}" }}', "basic needs a user"),
        (f'["a.test"]\nkey_password = "{SECRET}"', "a key needs its certificate"),
        ('["http://a.test"]\ncertificate = "me.pem"', "requires https://"),
        ('["a.test"]\ncertificate = "missing.pem"', "missing.pem: No such file"),
        (f'["a.test"]\nbearer = "{SECRET}"\n["https://a.test:443"]', "two tables are for the same origin"),
        (LOGIN.replace('"/in"', '"https://sso.test/in"'), r'logs in at https://sso.test; name it, too'),
        (LOGIN.replace('page = "/in"', ""), "a login needs a page and fields"),
        (LOGIN.replace("http:", "https:").replace('"/in"', '"http://a.test/in"'), "is not sent by http"),
        (LOGIN + 'check = "http://b.test/"', "check must be a page of http://a.test"),
        (LOGIN + '["http://a.test".logged_out]\nstatus = [200]', "statuses from 400 to 499"),
        (LOGIN + '["http://a.test".logged_out]\ntext = [1]', "text must be a text"),
        (LOGIN + '["http://a.test".logged_out]\nform = "no"', "form must be true or false"),
    ],
)  # fmt: skip
def test_errors_are_one_line_without_a_secret(write_access, text: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as raised:
        read_credentials(write_access(text))
    assert SECRET not in str(raised.value)
    assert "123456789" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_certificate_comes_with_its_key(write_access, authority: trustme.CA) -> None:
    made = authority.issue_cert("me@a.test")
    certificate, key = made.cert_chain_pems[0].bytes().decode(), made.private_key_pem.bytes().decode()
    write_access(certificate, "me.pem", mode=0o644)
    key_file = write_access(key, "me.key")
    write_access(certificate + key, "both.pem")
    apart = read_credentials(write_access('["a.test"]\ncertificate = "me.pem"\nkey = "me.key"')).grants[
        "https://a.test"
    ]
    both = read_credentials(write_access('["a.test"]\ncertificate = "both.pem"')).grants["https://a.test"]
    assert apart.certificate.decode() == certificate
    assert apart.key.decode() == key
    assert both.certificate == both.key == (certificate + key).encode()
    other = authority.issue_cert("you@a.test").private_key_pem.bytes().decode()
    write_access(other, "other.key")
    with pytest.raises(InputError, match="the key cannot be used: it does not match the certificate"):
        read_credentials(write_access('["a.test"]\ncertificate = "me.pem"\nkey = "other.key"'))
    for wrong in ('certificate = "me.key"', 'certificate = "me.pem"\nkey = "access.toml"'):
        with pytest.raises(InputError, match="in PEM"):
            read_credentials(write_access(f'["a.test"]\n{wrong}'))
    key_file.chmod(0o640)
    with pytest.raises(InputError, match=r"me.key: others can read it"):
        read_credentials(write_access('["a.test"]\ncertificate = "me.pem"\nkey = "me.key"'))


def test_the_files_in_the_documents_are_right(write_access, authority: trustme.CA) -> None:
    made = authority.issue_cert("reader@example.org")
    write_access(made.cert_chain_pems[0].bytes().decode(), "reader.pem")
    write_access(made.private_key_pem.bytes().decode(), "reader.key")
    write_access("wiki.example.org\tFALSE\t/\tTRUE\t0\tsid\t1\n", "cookies.txt")
    page = document(Path(__file__).parents[2] / "docs" / "how-to" / "crawl-behind-a-login.md")
    files = [block for block in page.blocks if block.kind == "toml"]
    assert len(files) == 4
    for block in files:
        assert read_credentials(write_access(block.code), environment=dict.fromkeys(NAMES, SECRET)).origins


@over_rows(
    ("target", "does"),
    [
        ("logout", True),
        ("users/sign_out", True),
        ("wp-login.php?action=logout&_wpnonce=1", True),
        ("index.php?title=Special:UserLogout", True),
        ("Account/LogOff", True),
        ("doku.php?do=log%6Fut", True),
        ("sign-out/", True),
        ("blog-official", False),
        ("catalog-out-of-print", False),
        ("login", False),
        ("design/outdoor", False),
        ("logoutcomes", False),
    ],
)
def test_logout_urls(target: str, does: bool) -> None:
    assert says_logout(f"http://logout.test/{target}") == does
