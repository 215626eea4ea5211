"""What goes over the wire, as the OpenAPI document describes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..search.options import MOST_WEIGHT
from .limits import Limits

DEFAULTS = Limits()
Coordinate = Annotated[float, Field(ge=-DEFAULTS.coordinate, le=DEFAULTS.coordinate, allow_inf_nan=False)]
Point = Annotated[list[Coordinate], Field(min_length=2, max_length=2)]
Stroke = Annotated[list[Point], Field(min_length=1, max_length=DEFAULTS.points)]
Strokes = Annotated[
    list[Stroke],
    Field(
        min_length=1,
        max_length=DEFAULTS.strokes,
        description="Polylines [[x, y], ...], in any unit, x to the right and y downwards.",
    ),
]
Degrees = Annotated[float, Field(ge=0, le=180, allow_inf_nan=False)]
PictureId = Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{1,32}$")]


class SearchFields(BaseModel):
    """What a search may be told, besides the drawing."""

    model_config = ConfigDict(extra="forbid", strict=True)

    k: int = Field(20, ge=1, le=100, description="How many hits to return.")
    offset: int = Field(0, ge=0, le=DEFAULTS.results, description="How many of the best hits to leave out.")
    expand: int | None = Field(
        None, ge=0, le=50, description="How many first hits to ask again with, by what they depict."
    )
    picked: list[PictureId] = Field(
        default=[], max_length=DEFAULTS.picked, description="Hits that are right: find more like them."
    )
    rejected: list[PictureId] = Field(
        default=[], max_length=DEFAULTS.picked, description="Hits that are wrong: nothing like them."
    )
    mirror: bool = Field(True, description="Also look for the mirrored drawing.")
    blend: float | None = Field(
        None,
        ge=0,
        le=MOST_WEIGHT,
        allow_inf_nan=False,
        description="Weight of what the drawing depicts beside its shape, which weighs 1; 0 is shape alone.",
    )
    words: str | None = Field(
        None,
        max_length=400,
        description="What is looked for, beside a drawing or instead of one: by its looks, and by names.",
    )
    turn: Degrees | Literal["any"] | None = Field(
        None,
        description="Also look for the drawing turned, by up to so many degrees either way; null turns it "
        "where nothing upright fits well.",
    )
    folder: str | None = Field(
        None, max_length=4096, description="Only pictures in this folder and those below; see /api/folders."
    )
    outlines: bool = Field(
        True,
        description="Whether each hit has its `outline`; without, `drawing` and where it lies say the same.",
    )
    page: str | None = Field(
        None,
        max_length=64,
        pattern=r"^[\w-]+$",
        description="Names the sender: a newer search with the same name takes the place of a waiting one.",
    )


class SearchBody(SearchFields):
    """A drawing, words, or both, and how to search for it."""

    strokes: Strokes | None = None


class ExplainBody(BaseModel):
    """A drawing and the hit that it is to be compared with."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: PictureId
    strokes: Strokes
    mirror: bool = Field(True, description="Also look for the mirrored drawing.")


class SearchForm(SearchFields):
    """The same options as they come in a form, where everything is text."""

    model_config = ConfigDict(extra="forbid", strict=False)

    box: list[Coordinate] | None = Field(
        None,
        min_length=4,
        max_length=4,
        description="x0, y0, x1, y1: the part of the picture that is meant, in its pixels.",
    )


class PlaceBody(BaseModel):
    """Another place in the same picture."""

    box: list[float] = Field(min_length=4, max_length=4)
    score: float
    scale: float
    mirrored: bool
    rotation: float = Field(description="Degrees, clockwise.")


class HitBody(BaseModel):
    """A picture that was found."""

    rank: int
    id: PictureId
    picture: str = Field(description="Absolute path or URI.")
    score: float = Field(ge=-1.001, le=1.001, description="The shape's cosine.")
    confidence: float = Field(ge=0, le=1, description="Orders the hits.")
    scale: float
    mirrored: bool
    rotation: float = Field(description="Degrees, clockwise.")
    dx: float
    dy: float
    box: list[float] = Field(
        min_length=4, max_length=4, description="[x0, y0, x1, y1] in the picture's pixels."
    )
    width: int
    height: int
    outline: list[list[list[float]]] | None = Field(
        None,
        description="The drawing's strokes, in the picture's pixels: with fewer points than `drawing` where "
        "there are many hits.",
    )
    also: list[PlaceBody] = Field(description="Where else in the picture, best first.")
    missing: bool = Field(description="The picture is not where the index knows it; such hits come last.")
    like: PictureId | None = Field(None, description="A hit before it that depicts nearly the same.")
    label: str | None = Field(None, description="Of a picture that lives elsewhere: what it is called there.")
    rights: str | None = Field(
        None, description="Of such a picture: whose it is, and what one may do with it."
    )
    link: str | None = Field(None, description="Of such a picture: the page that shows it.")
    matched: str | None = Field(
        None, description="The word of the picture's name that matched the words of the search, if one did."
    )


class SearchAnswer(BaseModel):
    """Hits, best first."""

    sketch: str | None = Field(description="What the drawing is called; null where there was none.")
    words: str | None = Field(description="The words of the search.")
    pictures: int = Field(description="How many were searched.")
    method: str
    took_ms: float
    present: float = Field(description="How likely the collection has the thing at all, 0 to 1.")
    first_page: float = Field(description="How likely it is among the first ten hits, 0 to 1.")
    verdict: str = Field(
        description='What is said of both: "Likely here", "Closest matches" or "Probably not here".'
    )
    covered: float = Field(
        description="The share of the collection that was looked at: less than 1 where some of it, on other "
        "machines, did not answer in time."
    )
    note: str | None = Field(description="A sentence where less was asked than the index knows.")
    drawing: list[list[list[float]]] = Field(
        description="The drawing's strokes: turned as a place says, then mirrored if it is so, their tight "
        "box is the place's box."
    )
    hits: list[HitBody]


class StrokesBody(BaseModel):
    """The strokes in a file."""

    strokes: list[list[list[float]]]
    photograph: bool = Field(description="Whether they were traced in a photograph.")


class IndexBody(BaseModel):
    """What is being searched, as `sketchseek info` prints it."""

    model_config = ConfigDict(extra="allow")

    pictures: int
    bytes: int
    preset: str | None
    detector: str | None
    expansion: str | None = Field(description="Which network's embeddings there are, if any.")
    stronger: str | None = Field(None, description="What to type for a stronger network, where there is one.")
    version: int
    settings: dict[str, Any]
    command: str = Field(description="What fills the index.")
    options: list[str] = Field(description="What a search may be told.")
    explain: bool = Field(description="Whether /api/explain says why a hit matched.")
    reveal: bool = Field(description="Whether this visitor may have pictures shown in their folders.")


class ShownPicture(BaseModel):
    """A picture of the collection."""

    id: PictureId
    picture: str = Field(description="Absolute path or URI.")
    width: int
    height: int


class ExampleBody(ShownPicture):
    """A drawing that finds this picture first."""

    strokes: list[list[list[float]]]


class ExplanationBody(BaseModel):
    """Why a picture matched a drawing, or did not."""

    sentence: str
    details: str
    points: list[list[float]] = Field(
        description="[x, y, support]: where in the picture a point of the drawing lies, and from 0 to 1 how "
        "much of the picture's contours it met."
    )
    patches: list[list[float]] | None = Field(
        None,
        description="[x0, y0, x1, y1, cosine]: where in the picture a patch of it is that was met by a patch "
        "of the drawing, and how alike the two are; absent where the index has no tokens.",
    )


class FolderBody(BaseModel):
    """A folder that pictures are in."""

    folder: str = Field(description="Absolute path or URI.")
    pictures: int = Field(description="How many are in it and below.")


class FoldersBody(BaseModel):
    """The folders of the collection, as a tree from its top: parents before what is in them."""

    folders: list[FolderBody]


class Health(BaseModel):
    """The server runs."""

    status: str


class Problem(BaseModel):
    """Why not, in a sentence."""

    detail: str


def first_fault(error: ValidationError) -> str:
    """The first thing that is wrong with a body, for a person."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}." if where else f"{first['msg']}."
