"""Look at a built site in Chromium, from its files: search, themes, widths, and no network."""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip
PAGES = (
    "index.html", "ten-minutes.html", "how-to.html", "glossary.html", "guarantees.html",
    "gallery/index.html", "api/sklearn_probsr.SufficientReasonExplainer.html",
)  # fmt: skip
LOOKS = ((390, "dark"), (1280, "light"), (1920, "dark"))
COPY = "return document.querySelectorAll('button.copybtn').length"
THUMBNAILS = """
return [...document.querySelectorAll('.sphx-glr-thumbcontainer img')]
  .filter((e) => e.naturalWidth > 0).length
"""
RESULTS = """
const done = document.querySelector('.search-summary')?.textContent.includes('finished');
const found = [...document.querySelectorAll('#search-results li a')];
return done ? found.map((e) => e.textContent) : null
"""
# What a search must find: a parameter, a term, a job.
FOUND = {"max_size": "compare", "enclosure": "Glossary", "threshold": "Decision thresholds"}


def browser(profile):
    """Start Chromium; None where it, its driver or selenium is not installed."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    try:
        from selenium import webdriver
    except ImportError:
        return None
    if chromium is None or driver is None:
        return None
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


def look(driver, width, scheme):
    """Choose the width of the window, and light or dark."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    wish = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [wish]})


def wait(driver, script):
    """Wait until a script returns something true; return it, or None after ten seconds."""
    for _ in range(100):
        if found := driver.execute_script(script):
            return found
        time.sleep(0.1)
    return None


def problems(driver, root):
    """Return what is wrong with what a reader sees."""
    found = []
    for width, scheme in LOOKS:
        look(driver, width, scheme)
        for page in PAGES:
            driver.get((root / page).as_uri())
            wide = driver.execute_script("return document.documentElement.scrollWidth")
            theme = driver.execute_script("return document.documentElement.dataset.theme")
            if wide > width:
                found.append(f"{page} is {wide} px wide in a window of {width}")
            if theme != scheme:
                found.append(f"{page} is {theme} where the reader prefers {scheme}")
    look(driver, 1280, "light")
    driver.get((root / "ten-minutes.html").as_uri())
    if not wait(driver, COPY):
        found.append("blocks of code have no button to copy them")
    driver.get((root / "gallery/index.html").as_uri())
    if not wait(driver, THUMBNAILS):
        found.append("the gallery has no thumbnails")
    for word, page in FOUND.items():
        driver.get(f"{(root / 'search.html').as_uri()}?q={word}")
        titles = wait(driver, RESULTS) or []
        if not any(page.lower() in title.lower() for title in titles):
            found.append(f"a search for {word} does not find {page}, but {titles}")
    log = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [event["params"] for event in log if event["method"] == "Network.requestWillBeSent"]
    urls = {event["request"]["url"] for event in sent}
    return [*found, *sorted(f"{url} is asked for" for url in urls if url.startswith("http"))]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as profile:
        driver = browser(profile)
        if driver is None:
            sys.stdout.write("no chromium, chromedriver or selenium: nobody looked at the site\n")
            sys.exit()
        try:
            wrong = problems(driver, Path(sys.argv[1]).resolve())
        finally:
            driver.quit()
    if wrong:
        sys.exit("\n".join(wrong))
    sys.stdout.write("looked at in Chromium, light and dark, narrow and wide: all is well\n")
