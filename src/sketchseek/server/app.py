"""The application: what each address answers."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import logging
import mimetypes
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from hashlib import blake2b
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from .. import __version__, system
from ..errors import ClusterError, DamagedError, SketchseekError
from ..sources.files import as_text
from ..sources.sandbox import machine_failed
from .archive import archive
from .bodies import (
    ExampleBody,
    ExplainBody,
    ExplanationBody,
    FoldersBody,
    Health,
    IndexBody,
    PictureId,
    Problem,
    SearchAnswer,
    SearchBody,
    SearchFields,
    SearchForm,
    ShownPicture,
    StrokesBody,
    first_fault,
)
from .decoding import BusyDecoderError, Decoder, Traced
from .iiif import ANNOTATIONS, MANIFEST, MOST_POINTS, annotation_page, hits_manifest, manifest_of
from .journal import Journal
from .library import File, Library, NoPictureError, NothingIndexedError, OutOfReachError
from .limits import Limits
from .metrics import Metrics
from .proxy import ProxyHeaders
from .reveal import by_the_page, from_this_machine, reveal
from .searches import BusyError, DisconnectedError, Searches, SupersededError
from .security import Gate, problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contours.drawing import Sketch
    from ..index import Index
    from ..search.hit import Hit

Drawn = TypeVar("Drawn", SearchBody, ExplainBody)
LOG = logging.getLogger("sketchseek.server")
RUN_OUT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Of something that will be there again."""
CORES = os.cpu_count() or 1
FRESH = "private, max-age=300"
"""Thumbnails may be shown again for five minutes without asking; after that the ETag decides."""
POINT_BYTES = 32
"""What a point of an outline takes in JSON at most, its share of the brackets around its stroke included."""
ASKED = "private, no-cache"
"""Of a picture's own file the browser asks each time whether it is still there, and the same."""


def create_app(
    where: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    limits: Limits | None = None,
    prefix: str = "",
    names: Sequence[str] = (),
    proxies: Sequence[str] = (),
    device: str = "auto",
    opened: Index | None = None,
) -> ASGIApp:
    """Everything behind `sketchseek serve`, as an ASGI application.

    where : the index's folder or URI; it may be made later.
    host : what the server listens on; decides under which names it answers.
    token : what visitors must bring, if anything.
    prefix : the path under which a proxy shows the server, such as /draw.
    names : further names under which it answers: the proxy's.
    proxies : addresses or networks whose X-Forwarded-* headers are believed.
    device : what searches, see `Index.open`.
    opened : the index at `where`, where it was opened in another way, as on a cluster.
    """
    limits = limits or Limits()
    service = Service(Library(where, device, opened), limits)
    app = FastAPI(
        title="sketchseek",
        version=__version__,
        description="Draw a shape, get back the pictures that contain it.",
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # it would send people to the name that a proxy knows
        lifespan=service.lifespan,
    )
    for error in (
        HTTPException,
        RequestValidationError,
        NoPictureError,
        NothingIndexedError,
        BusyDecoderError,
        ClientDisconnect,
        OutOfReachError,
        SketchseekError,
        OSError,
        Exception,
    ):
        app.add_exception_handler(error, as_problem)
    add_routes(app, service)
    add_page(app)
    service.serve_agents(app)
    gate = Gate(app, host=host, token=token, limits=limits, names=names)
    return ProxyHeaders(Journal(gate, service.metrics), prefix=prefix, proxies=proxies)


class Service:
    """What the routes share."""

    def __init__(self, library: Library, limits: Limits) -> None:
        self.library = library
        self.limits = limits
        self.metrics = Metrics()
        self.searches = Searches(limits.searches, limits.waiting, limits.search_seconds)
        self.decoder = Decoder(limits)
        self.uploads = 0
        self.arriving: dict[str, asyncio.Future[None]] = {}  # thumbnails that are being read
        self.greeting = Greeting(self)
        # Pictures have threads of their own: a queue of searches must not hold up thumbnails.
        self.threads = ThreadPoolExecutor(4, thread_name_prefix="pictures")
        self.agents: Any = None

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Open the index before the first visitor, and leave nothing running after the last."""
        asyncio.get_running_loop().set_exception_handler(report)
        with suppress(SketchseekError, OutOfReachError):  # a request will be told
            await self.off_loop(self.library.info)
        self.greeting.loop = asyncio.get_running_loop()
        rehearsal = asyncio.ensure_future(self.off_loop(self.rehearse))
        async with self.agents.session_manager.run() if self.agents is not None else nullcontext():
            yield
        self.greeting.over = True
        await rehearsal
        await asyncio.to_thread(self.greeting.thread.shutdown)
        self.decoder.close()
        self.searches.close()
        self.threads.shutdown(wait=True, cancel_futures=True)

    def serve_agents(self, app: FastAPI) -> None:
        """Answer agents under /mcp, where the extra is installed; the gate has checked who asks."""
        from ..agents import agent_server, has_extra

        if not has_extra():
            return
        from mcp.server.transport_security import TransportSecuritySettings

        self.agents = agent_server(self.library, self.decoder)
        answering = self.agents.streamable_http_app(
            json_response=True,
            stateless_http=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        app.router.routes += answering.routes

    def rehearse(self) -> None:
        """Search before the first request: networks are loaded, and pages of the index are in memory."""
        from ..contours.drawing import Sketch

        index = self.library.index()
        with suppress(Exception):  # the first search will be told
            if index is not None:
                index.search(Sketch.from_strokes([[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]), 1)
                self.greeting.of(index)

    async def off_loop(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Run what reads files or pictures on a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, work, *arguments)

    async def read_json(self, request: Request) -> tuple[Traced | None, SearchFields]:
        """A drawing in JSON; None where there are words only."""
        body = await self.read_body(request, SearchBody)
        if body.strokes is None and not (body.words and body.words.strip()):
            raise HTTPException(422, "strokes: Field required, unless there are words.")
        return None if body.strokes is None else Traced(body.strokes), body

    async def read_body(self, request: Request, kind: type[Drawn]) -> Drawn:
        """A body with a drawing in JSON."""
        try:
            body = kind.model_validate_json(await request.body())
        except ValidationError as error:
            raise HTTPException(422, first_fault(error)) from None
        points = sum(map(len, body.strokes or []))
        if points > self.limits.points:
            raise HTTPException(
                422, f"The drawing has {points:,} points; {self.limits.points:,} are the most."
            )
        return body

    async def read_form(self, request: Request) -> tuple[Traced, SearchFields]:
        """A drawing in a file: the form's only file, whatever its field is called."""
        if self.uploads >= self.limits.uploads:
            raise busy("files are being read")
        self.uploads += 1
        try:
            async with request.form(max_files=1, max_fields=16) as form:
                fields = form.multi_items()
                files = [value for _, value in fields if isinstance(value, UploadFile)]
                if len(files) != 1:
                    raise HTTPException(422, "Send one file: a picture, an SVG or strokes in JSON.")
                texts = {name: value for name, value in fields if not isinstance(value, UploadFile)}
                options = SearchForm.model_validate(
                    {k: v for k, v in texts.items() if k not in LISTS} | lists(texts)
                )
                return await self.decoder.strokes(await files[0].read(), options.box), options
        except ValidationError as error:
            raise HTTPException(422, first_fault(error)) from None
        except SketchseekError as error:
            raise refused(error) from None
        except MultiPartException as error:
            raise HTTPException(400, error.message) from None
        except BusyDecoderError:
            raise busy("files are being read") from None
        finally:
            self.uploads -= 1

    async def iiif_search(self, request: Request) -> Response:
        """Hits as annotations of canvases, for a drawing in the body, or in the address."""
        if request.method == "POST":
            traced, options = await self.read(request)
        else:
            traced, options = await self.read_query(request)
        if traced is None:
            raise HTTPException(422, "Annotations are for a drawing: send strokes.")
        gone = asyncio.ensure_future(disconnection(request))
        try:
            hits, sketch = await self.searches.run(options.page, gone, lambda: self.found(traced, options))
        except BusyError:
            raise busy("searches at once") from None
        except (SupersededError, DisconnectedError):
            raise HTTPException(409, "A newer search of the same page took the place of this one.") from None
        except SketchseekError as error:
            raise refused(error) from None
        finally:
            gone.cancel()
        base = str(request.base_url).rstrip("/")
        as_manifest = request.url.path.endswith("/manifest.json")
        make = hits_manifest if as_manifest else annotation_page
        found = make(hits, sketch, str(request.url), base, self.library.about)
        return Response(as_json(found), media_type=MANIFEST if as_manifest else ANNOTATIONS)

    async def read_query(self, request: Request) -> tuple[Traced, SearchFields]:
        """A drawing in an address: strokes in JSON, or an SVG."""
        asked = dict(request.query_params)
        strokes, svg = asked.pop("strokes", None), asked.pop("svg", None)
        try:
            options = SearchForm.model_validate(asked)
            if svg is not None:
                return await self.decoder.strokes(svg.encode()), options
            body = SearchBody.model_validate({"strokes": json.loads(strokes or "null")})
        except ValidationError as error:
            raise HTTPException(422, first_fault(error)) from None
        except (ValueError, RecursionError):
            raise HTTPException(422, "strokes: Neither JSON nor an SVG.") from None
        except SketchseekError as error:
            raise refused(error) from None
        if body.strokes is None:
            raise HTTPException(422, "strokes: Field required.")
        return Traced(body.strokes), options

    def found(self, traced: Traced, options: SearchFields) -> tuple[list[Hit], Sketch]:
        """A search, on a thread."""
        from ..contours.drawing import Sketch

        sketch = replace(Sketch.from_strokes(traced.strokes), picture=traced.picture)
        turn = 180.0 if options.turn == "any" else options.turn
        hits = self.library.ready().search(
            sketch, options.k, mirror=options.mirror, turn=turn, folder=options.folder, words=options.words
        )
        return hits, sketch.simplified(MOST_POINTS)

    async def manifest(self, request: Request, identifier: str) -> Response:
        """A picture as a manifest of one canvas, for viewers."""
        index = await self.off_loop(self.library.ready)
        try:
            row = index.row(identifier)
        except SketchseekError as error:
            raise NoPictureError(str(error)) from None
        base = str(request.base_url).rstrip("/")
        return Response(as_json(manifest_of(row, base)), media_type=MANIFEST)

    async def read(self, request: Request) -> tuple[Traced | None, SearchFields]:
        """A drawing, as JSON or in a file, or words."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            return await self.read_json(request)
        if kind == "multipart/form-data":
            return await self.read_form(request)
        raise HTTPException(415, "Send application/json or multipart/form-data.")

    async def search(self, request: Request) -> Response:
        """Read the drawing, wait for a thread, search, and say how long each took."""
        traced, options = await self.read(request)
        if options.offset + options.k > self.limits.results:
            raise HTTPException(422, f"Only the best {self.limits.results} hits can be had.")
        asked = time.perf_counter()
        gone = asyncio.ensure_future(disconnection(request))
        try:
            content, stages, hits = await self.searches.run(
                options.page, gone, lambda: self.answer(traced, options, asked)
            )
        except BusyError:
            self.metrics.turned_away("busy")
            raise busy("searches at once") from None
        except (SupersededError, DisconnectedError) as reason:
            self.metrics.turned_away("superseded" if isinstance(reason, SupersededError) else "disconnected")
            raise HTTPException(409, "A newer search of the same page took the place of this one.") from None
        except SketchseekError as error:
            raise refused(error) from None
        finally:
            gone.cancel()
        for stage, seconds in stages.items():
            self.metrics.stage(stage, seconds)
        timing = ", ".join(f"{stage};dur={seconds * 1e3:.1f}" for stage, seconds in stages.items())
        self.fetch_thumbnails(hits)
        return Response(content, media_type="application/json", headers={"server-timing": timing})

    def fetch_thumbnails(self, hits: list[Hit]) -> None:
        """Begin to read the thumbnails that the page is about to ask for, all at once."""
        wanted = [i for i in self.library.missing_thumbnails(hits) if i not in self.arriving]
        if not wanted:
            return
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(self.threads, self.library.load_thumbnails, wanted)
        self.arriving |= dict.fromkeys(wanted, reading)
        reading.add_done_callback(lambda _: [self.arriving.pop(i, None) for i in wanted])

    async def thumbnail(self, request: Request, identifier: str) -> Response:
        """A thumbnail: from memory where it is, or is about to be, there."""
        if identifier in self.arriving:
            await asyncio.wait({self.arriving[identifier]})
        kept = self.library.kept_thumbnail(identifier)
        if kept is not None:
            return file_response(request, kept, FRESH)
        return file_response(request, await self.off_loop(self.library.thumbnail, identifier), FRESH)

    def answer(
        self, traced: Traced | None, options: SearchFields, asked: float
    ) -> tuple[bytes, dict[str, float], list[Hit]]:
        """The search itself, on a thread: the answer's bytes, seconds per stage, the hits."""
        from ..contours.drawing import Sketch

        began = time.perf_counter()
        sketch = traced and replace(Sketch.from_strokes(traced.strokes), picture=traced.picture)
        drawn = time.perf_counter()
        index = self.library.ready()
        # All cores for a search that is alone; its share for one among many.
        threads = max(1, CORES // self.searches.running)
        hits = index.search(
            sketch,
            options.k,
            offset=options.offset,
            mirror=options.mirror,
            turn=180.0 if options.turn == "any" else options.turn,
            expand=options.expand,
            blend=options.blend,
            picked=options.picked,
            rejected=options.rejected,
            folder=options.folder,
            words=options.words,
            threads=threads,
        )
        found = time.perf_counter()
        answer: dict[str, Any] = {
            "sketch": sketch.name if sketch else None,
            "words": options.words,
            "pictures": len(index),
            "method": index.method,
            "took_ms": round((found - began) * 1e3, 2),
            "present": hits.present,
            "first_page": hits.first_page,
            "verdict": hits.verdict,
            "covered": hits.covered,
            "note": hits.note,
            "drawing": polylines(sketch.simplified(self.limits.points).strokes) if sketch else [],
            "hits": [self.body_of(hit) for hit in hits],
        }
        if options.outlines and sketch:
            outlined(answer["hits"], hits, sketch, self.limits.answer_bytes - len(as_json(answer)))
        content = as_json(answer)
        stages = {
            "queue": began - asked,
            "sketch": drawn - began,
            "search": found - drawn,
            "encode": time.perf_counter() - found,
        }
        return content, stages, hits

    def body_of(self, hit: Hit) -> dict[str, Any]:
        """A hit as it is sent; of one that lives elsewhere, with what its source says."""
        body = {**hit.to_dict(), "picture": as_text(hit.picture)}
        item = self.library.about(hit.picture)
        if item is not None:
            body |= {"label": item.label, "rights": item.rights, "link": item.link}
        return body

    async def picture(self, request: Request, identifier: str) -> Response:
        """A picture: as it lies on disk where every browser can show it, as WebP otherwise.

        Nothing is sent that a browser could run: an SVG leaves as pixels.
        """
        file: File | None = await self.off_loop(self.library.picture, identifier)
        if file is not None:
            return file_response(request, file)
        return await self.made(request, identifier, "image/webp", self.decoder.webp)

    async def volume(self, request: Request, identifier: str) -> Response:
        """The file that a picture is a page of: a PDF opens in the browser, all else is saved."""
        file: File = await self.off_loop(self.library.volume, identifier)
        response = file_response(request, file)
        if (
            file.media_type == "application/pdf"
        ):  # what browsers show it with is theirs, and can't be boxed in
            response.headers["content-security-policy"] = "default-src 'none'; object-src 'self'"
        else:
            response.headers["content-disposition"] = "attachment"
        return response

    async def contours(self, request: Request, identifier: str) -> Response:
        """What the program saw in a picture."""
        detector = (await self.off_loop(self.library.ready)).config.detector
        return await self.made(
            request, identifier, "image/png", lambda path: self.decoder.contours(path, detector)
        )

    async def explanation(self, request: Request) -> Response:
        """Why a picture matched a drawing, or did not: a PNG, or JSON for whom asks for that."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "Send application/json.")
        body = await self.read_body(request, ExplainBody)
        path, _ = await self.off_loop(self.library.locate, body.id)
        try:
            network, patches = await self.off_loop(self.likeness, body)
        except SketchseekError as error:
            raise refused(error) from None
        config = (await self.off_loop(self.library.ready)).config
        kind = "application/json" if "json" in request.headers.get("accept", "") else "image/png"
        try:
            content = await self.decoder.explanation(
                path,
                body.strokes,
                detector=config.detector,
                settings=config.settings,
                min_object_size=config.min_object_size,
                mirror=body.mirror,
                network=network,
                patches=patches,
                kind=kind,
            )
        except SketchseekError as error:
            if machine_failed(error):
                raise
            raise NoPictureError(str(error)) from None
        return Response(content, media_type=kind, headers={"cache-control": "no-store"})

    def likeness(self, body: ExplainBody) -> tuple[float | None, list[list[float]] | None]:
        """What the network says of a drawing and a picture, if there is one, and which patches met."""
        from ..contours.drawing import Sketch

        known = self.library.ready().likeness(Sketch.from_strokes(body.strokes), body.id)
        return known.cosine, None if known.patches is None else known.patches.astype(float).tolist()

    async def made(
        self, request: Request, identifier: str, media_type: str, make: Callable[[str], Awaitable[bytes]]
    ) -> Response:
        """What is made of a picture's file, unless it is kept from before."""
        path, etag = await self.off_loop(self.library.locate, identifier, media_type)
        content = self.library.cache.find(etag)
        if content is None:
            try:
                content = await make(path)
            except SketchseekError as error:
                if machine_failed(error):
                    raise
                raise NoPictureError(str(error)) from None
            self.library.cache.put(etag, content)
        return file_response(request, File(media_type, etag, content))

    async def reveal(self, request: Request, identifier: str) -> None:
        """Show a picture in its folder, to the person at this machine."""
        if not (from_this_machine(request) and by_the_page(request)):
            raise HTTPException(403, "Only the page on this very machine may show a file in its folder.")
        path, _ = await self.off_loop(self.library.locate, identifier)
        try:
            await self.off_loop(reveal, path)
        except SketchseekError as error:
            raise HTTPException(422, str(error)) from None


class Greeting:
    """Drawings to begin with: made once for each version of the index, by one thread at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="greeting")  # who waits holds up no pictures
        self._made: tuple[int, list[dict[str, Any]]] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.over = False  # the server is being stopped

    def of(self, index: Index) -> list[dict[str, Any]]:
        """Drawings that find a picture of this index first."""
        from ..web.examples import examples

        with self._lock:
            version = index.version
            if self._made is None or self._made[0] != version:
                self._made = version, examples(index, self._trace)
            return self._made[1]

    def _trace(self, thumbnail: bytes) -> list[list[list[float]]] | None:
        """The lines in a small picture, by the processes that open files."""
        if self.loop is None or self.over:
            return None
        asked = asyncio.run_coroutine_threadsafe(self._service.decoder.strokes(thumbnail), self.loop)
        try:
            return asked.result().strokes
        except (SketchseekError, BusyDecoderError):
            return None


def file_response(request: Request, file: File, caching: str = ASKED) -> Response:
    """The file, or the news that the browser still has it."""
    # A picture opened in a tab of its own may do nothing but be looked at.
    policy = "sandbox; default-src 'none'"
    headers = {"cache-control": caching, "etag": file.etag, "content-security-policy": policy}
    has_it = file.etag in (tag.strip() for tag in request.headers.get("if-none-match", "").split(","))
    if has_it:
        file.close()
        return Response(status_code=304, headers=headers)
    if isinstance(file.content, bytes):
        return Response(file.content, headers=headers, media_type=file.media_type)
    return OpenFileResponse(file.content, file.media_type, headers)


class OpenFileResponse(Response):
    """A file that is open already, sent piece by piece: no other can take its place."""

    PIECE = 1 << 18

    def __init__(self, file: io.BufferedReader, media_type: str, headers: dict[str, str]) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        super().__init__(None, 200, {**headers, "content-length": str(self._size)}, media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send as many bytes as were promised; where the file has become shorter, the connection is cut."""
        with self._file as file:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            left = self._size
            while left > 0:
                piece = await asyncio.to_thread(file.read, min(left, self.PIECE))
                if not piece:
                    return
                left -= len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": left > 0})


def refused(error: SketchseekError) -> Exception:
    """What is raised for an error: a 422, unless the machine or the index is to blame and not the request."""
    its_fault = not (isinstance(error, ClusterError | DamagedError) or machine_failed(error))
    return HTTPException(422, str(error)) if its_fault else error


def busy(what: str) -> HTTPException:
    """The answer when there is too much to do."""
    return HTTPException(503, f"Too many {what}; try again.", {"retry-after": "1"})


def outlined(bodies: list[dict[str, Any]], hits: Sequence[Hit], sketch: Sketch, room: int) -> None:
    """Add to hits the drawing's strokes where they were found, in so many bytes in all."""
    if not hits:
        return
    light = sketch.simplified(max(2, room // len(hits) // POINT_BYTES))
    for body, hit in zip(bodies, hits, strict=True):
        body["outline"] = polylines(hit.outline(light))


def polylines(strokes: Sequence[NDArray[np.float32]]) -> list[list[list[float]]]:
    """Strokes in JSON, to a tenth of a pixel; in double precision, since .1 takes 19 digits in single."""
    return [stroke.astype(float).round(1).tolist() for stroke in strokes]


def as_json(answer: dict[str, Any]) -> bytes:
    """An answer's bytes; a name in another script than ours takes no more than it does on disk."""
    return json.dumps(answer, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()


def lists(texts: dict[str, Any]) -> dict[str, list[str]]:
    """What a form's fields hold of which there may be several, with commas between."""
    return {
        name: [part.strip() for part in texts[name].split(",") if part.strip()] for name in LISTS & set(texts)
    }


async def disconnection(request: Request) -> None:
    """Wait until the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What asyncio could not do, in the log; in one line where the system has run out of something."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in RUN_OUT:
        LOG.warning("A visitor has to wait: %s.", error.strerror)
    else:
        loop.default_exception_handler(context)


def as_problem(_: Request, error: Exception) -> Response:
    """Any error as {"detail": "..."}."""
    if isinstance(error, HTTPException):
        return problem(error.status_code, str(error.detail), dict(error.headers or {}))
    if isinstance(error, NoPictureError | NothingIndexedError):
        return problem(404, str(error))
    if isinstance(error, ClientDisconnect):  # it will not be read; as nginx counts such a client
        return problem(499, "The client left before all of its request had come.")
    if isinstance(error, SketchseekError | OutOfReachError):
        LOG.warning("%s", error)
        return problem(503, str(error), {"retry-after": "5"})
    if isinstance(error, OSError) and error.errno in RUN_OUT:
        LOG.warning("A visitor has to wait: %s.", error.strerror)
        return as_problem(_, busy("files are open"))
    if isinstance(error, BusyDecoderError):
        return as_problem(_, busy("pictures are being read"))
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return problem(422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}.")
    LOG.error("A request failed", exc_info=error)
    return problem(500, "Something went wrong here; the server's log says more.")


# --- routes ----------------------------------------------------------------------------------------------

REASONS = {
    400: "The request cannot be understood.",
    401: "The token is missing or wrong.",
    403: "Another site asked.",
    404: "It is not there.",
    408: "The request came too slowly.",
    409: "A newer search of the same page took its place.",
    413: "Too much data.",
    415: "Neither JSON nor a form.",
    421: "The Host header does not name this server.",
    422: "Something in the request is wrong.",
    503: "Too much to do; try again after the seconds in Retry-After.",
}
ALWAYS = (401, 403, 421, 503)
Identifier = Annotated[PictureId, Path(description="A hit's id.")]
Identifiers = Annotated[
    list[PictureId],
    Query(description="Hits' ids.", min_length=1, max_length=Limits().archived),
]
LISTS = {"picked", "rejected", "box"}
FORM = {
    "type": "object",
    "required": ["picture"],
    "properties": {
        "picture": {"type": "string", "format": "binary"},
        "k": {"type": "integer", "minimum": 1, "maximum": 100},
        "mirror": {"type": "boolean"},
        "words": {"type": "string", "maxLength": 400},
        "turn": {"type": "number", "minimum": 0, "maximum": 180},
        "box": {"type": "string", "description": "x0,y0,x1,y1: the part that is meant, in pixels."},
    },
}


IN_ADDRESS = {
    "parameters": [
        {"name": name, "in": "query", "required": False, "schema": {"type": "string"}, "description": said}
        for name, said in (("strokes", "Polylines in JSON."), ("svg", "A drawing."), ("k", "How many hits."))
    ]
}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for the OpenAPI document."""
    return {s: {"model": Problem, "description": REASONS[s]} for s in sorted({*statuses, *ALWAYS})}


def picture_responses(media_type: str) -> dict[int | str, dict[str, Any]]:
    """A picture, its absence, or the news that nothing has changed."""
    return {
        200: {"content": {media_type: {"schema": {"type": "string", "format": "binary"}}}},
        304: {"description": "The browser has it already."},
        **documented(404, 422),
    }


def body_of(**content: Any) -> dict[str, Any]:
    """The request's body, for the OpenAPI document."""
    types = {"json": "application/json", "form": "multipart/form-data"}
    return {
        "requestBody": {
            "required": True,
            "content": {types[name]: {"schema": schema} for name, schema in content.items()},
        }
    }


def add_routes(app: FastAPI, service: Service) -> None:
    """The contract's endpoints."""
    search_schema = SearchBody.model_json_schema()

    @app.post(
        "/api/search",
        response_model=SearchAnswer,
        responses=documented(400, 404, 408, 409, 413, 415, 422),
        openapi_extra=body_of(json=search_schema, form=FORM),
        summary="Pictures that contain a drawing",
    )
    async def search(request: Request) -> Response:
        return await service.search(request)

    @app.post(
        "/api/sketch",
        response_model=StrokesBody,
        responses=documented(400, 408, 413, 415, 422),
        openapi_extra=body_of(form=FORM),
        summary="The strokes in a picture or SVG",
    )
    async def sketch(request: Request) -> Response:
        if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
            raise HTTPException(415, "Send multipart/form-data with one file.")
        traced, _ = await service.read_form(request)
        found = {"strokes": traced.strokes, "photograph": traced.picture is not None}
        return Response(json.dumps(found), media_type="application/json")

    @app.post(
        "/api/explain",
        response_class=Response,
        responses={
            200: {
                "content": {
                    "image/png": {"schema": {"type": "string", "format": "binary"}},
                    "application/json": {"schema": ExplanationBody.model_json_schema()},
                }
            },
            **documented(400, 404, 408, 413, 415, 422),
        },
        openapi_extra=body_of(json=ExplainBody.model_json_schema()),
        summary="Why a picture matched a drawing, or did not",
    )
    async def explanation(request: Request) -> Response:
        return await service.explanation(request)

    @app.get("/api/index", response_model=IndexBody, responses=documented(), summary="What is searched")
    async def index(request: Request) -> dict[str, Any]:
        known = await service.off_loop(service.library.info)
        local = from_this_machine(request) and system.can_reveal()
        return {
            **known,
            "options": sorted({*SearchBody.model_fields, *SearchForm.model_fields}),
            "explain": True,
            "reveal": local,
        }

    @app.get(
        "/api/folders", response_model=FoldersBody, responses=documented(), summary="Folders to search in"
    )
    async def folders() -> dict[str, Any]:
        known = await service.off_loop(service.library.folders, service.limits.folders)
        return {"folders": [{"folder": name, "pictures": count} for name, count in known]}

    def begin(choose: Callable[[Index], list[dict[str, Any]]]) -> list[dict[str, Any]]:
        known = service.library.index()
        return [{**one, "picture": as_text(one["picture"])} for one in (choose(known) if known else [])]

    @app.get(
        "/api/pictures", response_model=list[ShownPicture], responses=documented(), summary="Some pictures"
    )
    async def some_pictures() -> Any:
        from ..web.examples import shown_pictures

        return await service.off_loop(begin, shown_pictures)

    @app.get(
        "/api/examples",
        response_model=list[ExampleBody],
        responses=documented(),
        summary="Drawings to begin with, each of which finds one of the pictures first",
    )
    async def example_drawings() -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(service.greeting.thread, begin, service.greeting.of)

    @app.get("/api/health", response_model=Health, responses=documented(), summary="Whether the server runs")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get(
        "/api/pictures/{id}",
        response_class=Response,
        responses=picture_responses("image/*"),
        summary="A picture",
    )
    async def picture(id: Identifier, request: Request) -> Response:
        return await service.picture(request, id)

    @app.get(
        "/api/pictures/{id}/thumbnail",
        response_class=Response,
        responses=picture_responses("image/webp"),
        summary="A small WebP of a picture",
    )
    async def thumbnail(id: Identifier, request: Request) -> Response:
        return await service.thumbnail(request, id)

    @app.get(
        "/api/pictures/{id}/volume",
        response_class=Response,
        responses=picture_responses("application/*"),
        summary="The volume that a picture is a page of",
    )
    async def volume(id: Identifier, request: Request) -> Response:
        return await service.volume(request, id)

    @app.get(
        "/api/pictures/{id}/contours",
        response_class=Response,
        responses=picture_responses("image/png"),
        summary="The contours that the program saw in a picture",
    )
    async def contours(id: Identifier, request: Request) -> Response:
        return await service.contours(request, id)

    @app.post(
        "/api/pictures/{id}/reveal",
        response_model=Health,
        responses=documented(404, 422),
        summary="Show a picture in its folder, on the machine that the server runs on",
    )
    async def show_in_folder(id: Identifier, request: Request) -> dict[str, str]:
        await service.reveal(request, id)
        return {"status": "ok"}

    @app.get(
        "/api/archive",
        response_class=Response,
        responses={
            200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}},
            **documented(404, 422),
        },
        summary="Several pictures as a zip",
    )
    async def zipped(id: Identifiers) -> Response:
        paths = await service.off_loop(service.library.paths, id)
        name = {"content-disposition": 'attachment; filename="pictures.zip"', "cache-control": "no-store"}
        return StreamingResponse(archive(paths), media_type="application/zip", headers=name)

    iiif: dict[int | str, dict[str, Any]] = {200: {"content": {ANNOTATIONS: {"schema": {"type": "object"}}}}}
    for method in ("GET", "POST"):
        app.add_api_route(
            "/iiif/search",
            service.iiif_search,
            methods=[method],
            response_class=Response,
            response_model=None,
            responses={**iiif, **documented(400, 404, 408, 409, 413, 415, 422)},
            openapi_extra=body_of(json=search_schema, form=FORM) if method == "POST" else IN_ADDRESS,
            summary="Where canvases show a drawing, as a IIIF AnnotationPage",
            operation_id=f"iiif_search_{method.lower()}",
        )

    app.add_api_route(
        "/iiif/search/manifest.json",
        service.iiif_search,
        methods=["GET"],
        response_class=Response,
        response_model=None,
        responses={**iiif, **documented(400, 404, 408, 409, 413, 415, 422)},
        openapi_extra=IN_ADDRESS,
        summary="The canvases that show a drawing as a IIIF manifest, each with its outline: viewers open it",
        operation_id="iiif_search_manifest",
    )

    @app.get(
        "/iiif/pictures/{id}/manifest.json",
        response_class=Response,
        responses={200: {"content": {MANIFEST: {"schema": {"type": "object"}}}}, **documented(404, 422)},
        summary="A picture as a IIIF manifest of one canvas",
    )
    async def manifest(id: Identifier, request: Request) -> Response:
        return await service.manifest(request, id)

    @app.get("/metrics", response_class=PlainTextResponse, responses=documented(), summary="For Prometheus")
    async def metrics() -> str:
        index = await service.off_loop(service.library.index)
        measures = await service.off_loop(index.measures) if index is not None else []
        return service.metrics.text(
            {
                "sketchseek_pictures": len(index) if index is not None else 0,
                "sketchseek_searches_waiting": service.searches.waiting,
            },
            measures,
        )


def add_page(app: FastAPI) -> None:
    """The page's own files, read once: a request never names a path."""
    folder = resources.files("sketchseek.web").joinpath("page")
    for entry in folder.iterdir():
        kind = mimetypes.guess_type(entry.name)[0] or "application/octet-stream"
        if kind == "application/javascript":
            kind = "text/javascript"
        asset = Asset(entry.read_bytes(), kind)
        address = "/" if entry.name == "index.html" else f"/page/{entry.name}"
        app.add_api_route(address, asset.send, include_in_schema=False, response_model=None)


class Asset:
    """One of the page's files."""

    def __init__(self, content: bytes, media_type: str) -> None:
        self.content = content
        self.media_type = media_type
        self.etag = f'"{blake2b(content, digest_size=12).hexdigest()}"'

    async def send(self, request: Request) -> Response:
        """The file, or the news that the browser still has it."""
        headers = {"etag": self.etag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == self.etag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.media_type, headers=headers)
