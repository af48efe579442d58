"""The forms of a page, with the values that a browser would send."""

from __future__ import annotations

from orienteer.extract.forms import forms_of

PAGE = b"""
<base href="/app/">
<form><input name=q></form>
<form id=in method=POST action="go?a=1&amp;b">
  <input type=hidden name=token value="a&quot;b"><input name=user value=x><input type=PASSWORD name=pass>
  <input type=checkbox name=stay checked><input type=checkbox name=no><input type=radio name=r value=1>
  <input type=radio name=r value=2 checked><input name=off disabled value=1><input type=file name=f>
  <textarea name=t>
one <input name=inside></textarea><select name=s><option value=1><option value=2 selected></select>
  <select name=first><option value=a><option value=b></select>
  <button type=button name=no1></button><button name=do value=login>Go</button><input type=submit name=later>
  <script>document.write("<input name=scripted>")</script><!-- <input name=commented> -->
</form>
<input name=outside>
"""


def test_values_that_a_browser_would_send() -> None:
    search, login = forms_of(PAGE, "https://a.test/x/y")
    assert (search.method, search.action, search.names) == ("get", "https://a.test/app/", {"q"})
    assert (login.id, login.method, login.action) == ("in", "post", "https://a.test/app/go?a=1&b")
    assert login.fields == {
        "token": 'a"b', "user": "x", "pass": "", "stay": "on", "r": "2", "t": "one <input name=inside>", "s": "2",
        "first": "a",
    }  # fmt: skip
    assert login.names == {*login.fields, "no"}
    assert (login.passwords, login.submit) == ({"pass"}, ("do", "login"))


def test_fields_between_the_tags_of_a_form_belong_to_it_in_tables_too() -> None:
    page = b"<table><form><tr><td><input name=user value=a><tr><td><input type=password name=p></form></table>"
    (form,) = forms_of(page, "http://a.test/")
    assert (form.fields, form.passwords) == ({"user": "a", "p": ""}, {"p"})


def test_an_invalid_action_is_none() -> None:
    assert [form.action for form in forms_of(b"<form action='mailto:a@b.test'></form>", "http://a.test/")] == [None]


def test_the_number_of_forms_is_bounded() -> None:
    assert len(forms_of(b"<form></form>" * 5_000, "http://a.test/")) == 100
    assert (
        len(forms_of(b"<form>" + b"".join(b"<input name=%d>" % k for k in range(5_000)), "http://a.test/")[0].fields)
        == 1_000
    )
