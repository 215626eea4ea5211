"""A museum on this machine: a static IIIF server of level 0, as wrong or as gone as a test wants it."""

from __future__ import annotations

import hashlib
import io
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image, ImageDraw

SIZES = [(300, 400), (900, 1200)]
FULL = (1800, 2400)


class Museum:
    """Files by path. wrong : statuses that a path answers with first. asked : how often each was."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.wrong: dict[str, list[int]] = {}
        self.asked: Counter[str] = Counter()
        self.unchanged = 0
        museum = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                museum.asked[self.path] += 1
                if museum.wrong.get(self.path):
                    self.send_error(museum.wrong[self.path].pop())
                    return
                data = museum.files.get(self.path)
                if data is None:
                    self.send_error(404)
                    return
                tag = f'"{hashlib.blake2b(data, digest_size=8).hexdigest()}"'
                if self.headers.get("if-none-match") == tag:
                    museum.unchanged += 1
                    self.send_response(304)
                    self.end_headers()
                    return
                self.send_response(200)
                self.send_header("etag", tag)
                self.send_header("access-control-allow-origin", "*")
                self.send_header("content-length", str(len(data)))
                kind = "image/jpeg" if self.path.endswith(".jpg") else "application/json"
                self.send_header("content-type", kind)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def put(self, path: str, document: Any) -> str:
        self.files[path] = json.dumps(document).encode()
        return self.url + path

    def picture(self, name: str, polygon: list[tuple[float, float]]) -> None:
        """A picture in the sizes that a server of level 0 has, and its info.json."""
        for width, height in SIZES:
            image = Image.new("RGB", (width, height), "white")
            scaled = [(x * width, y * height) for x, y in polygon]
            ImageDraw.Draw(image).line([*scaled, scaled[0]], "black", max(2, width // 60), joint="curve")
            out = io.BytesIO()
            image.save(out, "JPEG")
            for size in (f"{width},", f"{width},{height}"):
                self.files[f"/{name}/full/{size}/0/default.jpg"] = out.getvalue()
        sizes = [{"width": w, "height": h} for w, h in SIZES]
        about = {"@context": "http://iiif.io/api/image/3/context.json", "id": f"{self.url}/{name}"}
        about |= {"type": "ImageService3", "protocol": "http://iiif.io/api/image", "profile": "level0"}
        self.put(f"/{name}/info.json", {**about, "sizes": sizes, "width": FULL[0], "height": FULL[1]})

    def manifest3(self, path: str, names: list[str]) -> str:
        return self.put(
            path,
            {
                "@context": "http://iiif.io/api/presentation/3/context.json",
                "id": self.url + path,
                "type": "Manifest",
                "label": {"en": ["Figures"]},
                "rights": "http://creativecommons.org/licenses/by/4.0/",
                "homepage": [{"id": f"https://museum.example{path}", "type": "Text", "format": "text/html"}],
                "items": [self._canvas3(path, name) for name in names],
            },
        )

    def _canvas3(self, path: str, name: str) -> dict[str, Any]:
        canvas, size = f"{self.url}{path}/canvas/{name}", {"width": FULL[0], "height": FULL[1]}
        service = {"id": f"{self.url}/{name}", "type": "ImageService3", "profile": "level0"}
        address = f"{self.url}/{name}/full/900,1200/0/default.jpg"
        body = {"id": address, "type": "Image", "format": "image/jpeg", "service": [service], **size}
        painting = {"id": f"{canvas}/p/a", "type": "Annotation", "motivation": "painting"}
        painting |= {"body": body, "target": canvas}
        page = {"id": f"{canvas}/p", "type": "AnnotationPage", "items": [painting]}
        label = {"none": [f"plate {name}"]}
        return {"id": canvas, "type": "Canvas", "label": label, **size, "items": [page]}

    def manifest2(self, path: str, names: list[str]) -> str:
        def canvas(name: str) -> dict[str, Any]:
            service = {"@context": "http://iiif.io/api/image/2/context.json", "@id": f"{self.url}/{name}"}
            service |= {"profile": ["http://iiif.io/api/image/2/level0.json"]}
            address = f"{self.url}/{name}/full/full/0/default.jpg"
            resource = {"@id": address, "@type": "dctypes:Image", "service": service}
            return {
                "@id": f"{self.url}{path}/canvas/{name}",
                "@type": "sc:Canvas",
                "label": name,
                "width": FULL[0],
                "height": FULL[1],
                "images": [{"@type": "oa:Annotation", "resource": resource}],
            }

        return self.put(
            path,
            {
                "@context": "http://iiif.io/api/presentation/2/context.json",
                "@id": self.url + path,
                "@type": "sc:Manifest",
                "label": "Old figures",
                "attribution": "The museum",
                "related": "https://museum.example/old",
                "sequences": [{"canvases": [canvas(name) for name in names]}],
            },
        )
