"""How a page is looked at in Chromium: which width, light or dark, on a screen or in print."""

from typing import Any


def look(driver: Any, width: int = 1200, media: str = "", **features: str) -> None:
    """Choose the width of the window, screen or print, and what the reader prefers."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    wishes = {"prefers-color-scheme": "light"}
    wishes |= {name.replace("_", "-"): value for name, value in features.items()}
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": media, "features": [{"name": k, "value": v} for k, v in wishes.items()]},
    )
