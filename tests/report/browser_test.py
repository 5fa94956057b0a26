"""HTML reports as a reader sees them, in a headless Chromium: light and dark, on a screen and on a phone.

Usage: browser_test.py ORTHANT CHROMIUM [FOLDER for screenshots]

For each page and view: no request but the page itself, no complaint of the browser, no sideways scrolling of the page
(wide tables scroll in their own frame), text readable (contrast 4.5 or more, WCAG 2.1 AA), and what should be seen is on
the page.
"""

import pathlib
import subprocess
import sys
import tempfile

from chromium import Chromium

VIEWS = {"screen": (1280, 900), "phone": (390, 844)}

CONTRAST = """(() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = parse(c).slice(0, 3).map(v => {
      v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
      const p = parse(c); if (p.length < 4 || p[3] > 0) return c; } return 'rgb(255, 255, 255)'; };
  let worst = 21;
  for (const e of document.querySelectorAll('h1, h2, p, th, td')) {
    const a = light(getComputedStyle(e).color), b = light(behind(e));
    worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return worst; })()"""


DUMP = pathlib.Path(__file__).resolve().parents[2] / "data" / "gemma3-270m-512.safetensors"


def make_pages(orthant, folder):
    commands = {
        "claims": (["verify", "lower-bound", "entropy", "bits", "--bits", "1,2"], ["holds", "violated"]),
        "league": (["verify", "league", "--dim", "32", "--bits", "1-3", "--seeds", "2", "--keys", "100", "--queries",
                    "10"], ["turbo-mse:2", "encode ns"]),
        "kv": (["kv", str(DUMP), "--layers", "0", "--bits", "2,3"], ["All layers", "turbo-mse:2", "from Gaussian"]),
    }
    for name, (arguments, texts) in commands.items():
        page = folder / f"{name}.html"
        done = subprocess.run([orthant, *arguments, "--html", str(page)], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise SystemExit(f"{arguments}: exit {done.returncode}\n{done.stderr}")
        yield name, page, texts


def check(browser, name, page, texts, pictures):
    backgrounds = {}
    for view, (width, height) in VIEWS.items():
        for dark in (False, True):
            where = f"{name}, {view}, {'dark' if dark else 'light'}"
            url = page.resolve().as_uri()
            browser.show(url, width, height, dark)
            if browser.requests() != [url]:
                raise SystemExit(f"{where}: requests {browser.requests()}")
            if browser.complaints():
                raise SystemExit(f"{where}: {browser.complaints()}")
            wide = browser.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth")
            if wide > 0:
                raise SystemExit(f"{where}: the page scrolls sideways by {wide} pixels")
            contrast = browser.evaluate(CONTRAST)
            if contrast < 4.5:
                raise SystemExit(f"{where}: contrast {contrast:.2f}")
            shown = browser.evaluate("document.body.innerText")
            for text in texts:
                if text not in shown:
                    raise SystemExit(f"{where}: '{text}' is not on the page")
            size = browser.evaluate("parseFloat(getComputedStyle(document.querySelector('td')).fontSize)")
            if size < 12:
                raise SystemExit(f"{where}: table text of {size} pixels")
            backgrounds[dark] = browser.evaluate("getComputedStyle(document.body).backgroundColor")
            picture = pictures / f"{where.replace(', ', '-')}.png"
            browser.screenshot(picture)
            if picture.stat().st_size < 5000:
                raise SystemExit(f"{where}: an empty picture")
    if backgrounds[False] == backgrounds[True]:
        raise SystemExit(f"{name}: light and dark look alike")


def main():
    orthant, program = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pictures = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else folder
        pictures.mkdir(parents=True, exist_ok=True)
        browser = Chromium(program, folder / "profile")
        try:
            for page in make_pages(orthant, folder):
                check(browser, *page, pictures)
            # A page that breaks each rule is noticed: the checks can fail.
            bad = folder / "bad.html"
            bad.write_text("<body style='width: 3000px; color: #999; background: #fff'><p>holds</p><table><tr><td>1"
                           "</td></tr></table><img src='http://localhost:9/x.png'></body>")
            try:
                check(browser, "bad", bad, ["holds"], folder)
            except SystemExit:
                return
            raise SystemExit("a page with a picture from elsewhere, wide and pale, passes")
        finally:
            browser.close()


main()
