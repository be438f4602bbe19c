"""A browser that no longer draws stops no test: it is replaced, and the test that waited for it is begun anew."""

import os
import signal

import pytest


@pytest.fixture
def stopped() -> list[int]:
    """The processes that a test has stopped."""
    return []


def processes_of_pages(browser) -> list[int]:
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return [process["id"] for process in processes if process["type"] == "renderer"]


@pytest.mark.filterwarnings("ignore:the browser drew no frame")
def test_a_test_is_begun_anew_once_its_browser_no_longer_draws(visit, chromium, stopped):
    page = visit("")
    assert chromium.is_drawing()
    if not stopped:
        stopped += processes_of_pages(chromium.browser)
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        page.wait_for_function("window.that_never_comes", timeout=1000)
    assert stopped and not {*stopped} & {*processes_of_pages(chromium.browser)}


@pytest.mark.filterwarnings("ignore:the browser drew no frame")
@pytest.mark.timeout(24)
def test_a_test_is_begun_anew_once_its_browser_no_longer_answers(visit, chromium, stopped):
    page = visit("")
    if not stopped:
        stopped.append(chromium.process)
        os.kill(chromium.process, signal.SIGSTOP)
    assert page.evaluate("1 + 1") == 2  # a call without a time limit
    assert chromium.process not in stopped
