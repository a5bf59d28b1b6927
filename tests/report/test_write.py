"""Three files, each whole or not at all, and the summary where GitHub looks for it."""

from __future__ import annotations

import json
import os
import re

import pytest

from perf.harness.errors import Refusal
from perf.harness.report.page import write
from perf.harness.report.page.embedded import trend
from perf.harness.report.page.render import render
from tests.report.pages import HOSTILE, history, mixed_results, session_page


def test_three_files_are_written_and_the_summary_is_appended(tmp_path):
    target = tmp_path / "step.md"
    target.write_text("earlier\n")
    index = write.write(
        tmp_path / "new" / "report", session_page(mixed_results()), {"GITHUB_STEP_SUMMARY": str(target)}
    )
    names = sorted(path.name for path in index.parent.iterdir())
    assert names == ["index.html", "report.json", "summary.md"]
    short = (index.parent / "summary.md").read_text()
    assert target.read_text() == f"earlier\n{short}\n"
    assert json.loads((index.parent / "report.json").read_text())["status"] == "red"


def test_what_cannot_be_written_leaves_the_earlier_report(tmp_path, monkeypatch):
    index = write.write(tmp_path, session_page(mixed_results()), {})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write.write(tmp_path, session_page([], compared=False), {})
    assert {path.name: path.read_bytes() for path in index.parent.iterdir()} == before


def test_a_place_where_no_report_can_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal, match=r"--perf-report .*cannot be made"):
        write.refuse_unfit(tmp_path / "file" / "report")


def test_the_page_asks_the_network_for_nothing():
    page = render(session_page(mixed_results()))
    head, _, rest = page.partition("<script>\n/**\n* plotly.js")
    own = head + rest.rpartition("</script>\n<script>")[2]
    assert "default-src 'none'" in own
    assert rest
    links = re.findall(r"""(?:src|href)=["']?([^"'\s>]*)""", own)
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert set(re.findall(r"https?://[^\s\"'`]*", own)) == {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_no_name_becomes_markup_anywhere():
    page = session_page(mixed_results(), trend=history())
    page = render(page, trend(page))
    assert HOSTILE not in page
    assert "&lt;script&gt;document.title" in page
    assert r"\u003cscript\u003edocument.title" in page
