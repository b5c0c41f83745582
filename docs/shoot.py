"""Take the picture of the page again: ``make screenshots``. It needs Chromium and its driver.

The page is that of the README's model; for the picture, the words of the summary are left out.
"""

import base64
import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from sklearn_probsr import compare

PICTURE = Path(__file__).resolve().parent / "images" / "report.png"
WIDTH, SCALE, COLOURS = 1280, 1.5, 128
OPEN, LAST = 4, 5
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars")


def write_page(path: Path) -> None:
    """Write the page of the tumours."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    model = LogisticRegression(solver="newton-cholesky").fit(X_train, y_train)
    compare(model, X_test, X_train, y=y_test).to_html(path)


def shoot(page: Path, profile: Path) -> bytes:
    """Return a picture, as PNG, of the page with a row open, down to a few rows further."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    with webdriver.Chrome(options=options, service=service) as driver:
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": WIDTH, "height": 900, "deviceScaleFactor": SCALE, "mobile": False},
        )
        driver.get(page.as_uri())
        WebDriverWait(driver, 20).until(
            lambda d: d.find_elements(By.CSS_SELECTOR, "[data-ready=yes]")
        )
        height = driver.execute_script(
            "document.querySelectorAll('section:first-of-type p').forEach((p) => p.remove());"
            "document.querySelector(`[data-row='${arguments[0]}'] td`).click();"
            "document.activeElement.blur();"
            "return document.querySelector(`[data-row='${arguments[1]}']`)"
            ".getBoundingClientRect().bottom + scrollY",
            OPEN,
            LAST,
        )
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
        shot = driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
        )
    return base64.b64decode(shot["data"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write_page(Path(folder) / "page.html")
        png = shoot(Path(folder) / "page.html", Path(folder) / "profile")
    with Image.open(io.BytesIO(png)) as picture:
        few = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(PICTURE, optimize=True)
