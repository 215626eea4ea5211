// Every number, name and sentence of a search, once. Python and JavaScript ask the engine for them (`describe_core`).
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

namespace sketchseek {

// How far each step goes.
constexpr int64_t kCandidates = 500;  // the best by the plain score, which are ordered by what is there around the drawing
constexpr int64_t kThorough = 100;    // of how many of these all windows are looked at
constexpr int64_t kRefined = 30;      // how many of these windows are also compared by how the drawing fits off the grid
constexpr int64_t kJudged = 50;       // hits that are judged whatever is asked for: what is said of them does not depend on it
constexpr int64_t kCovered = 20;      // hits whose coverage is evidence; those further down have that of the last of these
constexpr int64_t kBackground = 256;  // pictures, from all over a collection, that say what an ordinary score is
constexpr int64_t kChosenFrom = 16384;  // of how many these are chosen at most
constexpr int kHashed = 64;             // components of a row that choose it
constexpr int64_t kFew = 24;          // a collection of fewer is filled up with synthetic contours

// Poses.
constexpr double kTurnStep = 15;  // degrees: turned by half of it, a drawing still scores .84 with itself (docs/explanation/windows.md)
constexpr double kResemblingTurn = 30;  // of a drawing that the icon network is shown turned
constexpr double kFineTurn = 5;   // the same for the thorough look
constexpr int kFiner = 4;         // steps from one scale to the next that are tried off the grid

// What orders hits.
constexpr double kLocalNormalization = 0.4;  // b: 0 divides by the whole picture's norm, 1 by that of the drawing's box
constexpr double kMargin = 10;               // pixels by which that box is widened: a kernel reaches beyond its line
constexpr double kCoverage = 1;              // the power of coverage
constexpr double kMirrored = 0.99;           // of two mirror images the one that was drawn comes first
constexpr double kWindowPrior = 0.15;          // a window of share f counts f^.15: small windows give clutter more chances
constexpr double kPartPower = 0.1;           // the share of a part of line art counts to this power: parts are no accident
constexpr int kSamples = 96;                 // points of the drawing whose support is looked at
constexpr int kCells = 8, kSamplesPerCell = 3;  // a side of the grid in which a picture's energy is summed

// What the icon network says (icons.hpp), where more than this share of the pictures are line art or flat art.
constexpr int kEmbedding = 128;                // numbers of an embedding
constexpr double kIconShare = 0.5;
constexpr int64_t kIconCandidates = 200;       // pictures that resemble a drawing most, which are looked at, too
constexpr double kIconBlend = 3;               // what it weighs beside shape alone, both as z-scores
constexpr double kIconBlendBeside = 0.5;        // the same beside shape and what a larger network says
constexpr double kIconUnseen = 0.8;            // of how far it stands out without it: what it says of a picture it has not seen, a photograph
constexpr double kSame = 0.9;                  // a picture whose shape has this cosine looks the same, whatever it depicts

// What names say, where words are searched for (words/names.py, and names.js of a published site): what a word counts in a name, a
// title and the folders above; with another ending, inside of a longer word, with mistakes; what the words beside it cost; from
// what on a match counts, and is what the picture is called; what it weighs beside the rest, in deviations; the logistic that makes
// a chance of that; the letters of a word that is looked for inside of others and with a mistake, and of one with two.
#define SKETCHSEEK_NAMES(X)                                                                                              \
  X(kWords, "words", 16) X(kInName, "name", 1) X(kInTitle, "title", 0.9) X(kInFolder, "folder", 0.7)                     \
  X(kInSecondFolder, "second folder", 0.5) X(kInThirdFolder, "third folder", 0.35) X(kOtherEnding, "other ending", 0.95)  \
  X(kInside, "inside", 0.6) X(kOneMistake, "one mistake", 0.75) X(kTwoMistakes, "two mistakes", 0.55) X(kCrowdCost, "crowd", 0.1) \
  X(kNameFrom, "least", 0.3) X(kNamed, "weight", 3) X(kNamedSteep, "steepness", 1.5) X(kNamedHalf, "half", 2)            \
  X(kNamedLikely, "likely", 0.5) X(kShortWord, "short word", 4) X(kLongWord, "long word", 8) X(kNear, "near", 5)
#define CONSTANT(name, text, value) constexpr double name = value;
SKETCHSEEK_NAMES(CONSTANT)
#undef CONSTANT
constexpr int64_t kCompared = 2500;  // fewer pictures than these are all compared, of more those that something names
constexpr int64_t kUsual = 1024;     // pictures that say what an ordinary score is beside names

// Places.
constexpr double kAlso = 0.8;   // another place's score is at least this share of the best one's
constexpr double kApart = 0.5;  // at most this share of the smaller of two boxes lies in the other

// What a hit is judged by. Of the hit: its cosine and by how many deviations it stands out from the background, its coverage,
// their product (match), how nearly it is a copy, what orders it, its rank, whether it is line art, and how much of the
// background scores nearly as high, and what the icon network says of it (0 where nobody asked). Of the search: the number of pictures,
// how much was drawn and how concentrated it is, the best hit beside the background, the tenth and the second, the background's
// skewness; the largest cosine of the icon network, how far the fifth is from it, and their deviation. The network's are 0
// without one.
#define SKETCHSEEK_EVIDENCE(X)                                                                                               \
  X(kCosine, "cosine") X(kShapeZ, "shape z-score") X(kCoverageOf, "coverage") X(kOrderScore, "order score")                  \
  X(kNetwork, "network cosine") X(kNetworkZ, "network z-score") X(kPictures, "log pictures") X(kLineArt, "line art")         \
  X(kLength, "log length drawn") X(kSimplicity, "simplicity") X(kBestShapeZ, "best shape z-score")                           \
  X(kShapeMargin, "shape margin to the tenth") X(kBestNetworkZ, "best network z-score")                                      \
  X(kNetworkMargin, "network margin to the tenth") X(kAgreement, "agreement") X(kNearest, "nearest by network")              \
  X(kNetworkSkew, "network skewness") X(kFlatArt, "flat art share") X(kCohesion, "cohesion of first hits")                   \
  X(kSimilarity, "similarity to first hits") X(kCrowd, "background similar to first hits") X(kShapeSkew, "shape skewness")   \
  X(kShapeAbove, "background above by shape") X(kNetworkAbove, "background above by network") X(kMatch, "match")             \
  X(kCopy, "near copy") X(kBestMatch, "best match") X(kMatchMargin, "match margin to the second") X(kRank, "log rank")    \
  X(kIcon, "icon cosine") X(kIconZ, "icon z-score") X(kIconBest, "best icon cosine")                                        \
  X(kIconMargin, "icon margin to the fifth") X(kIconSpread, "icon spread")

// By how many deviations of unrelated drawings the drawing is more like photographs: the first hits, the nearest in the whole
// collection, the mean of the first hits, the best mean of three neighbours; then what it has with photographs elsewhere.
#define SKETCHSEEK_LIKENESS(X)                                                                                       \
  X(kFirstFive, "first five") X(kNearestOne, "nearest") X(kNearestFive, "nearest five") X(kNearestTwenty, "nearest twenty")  \
  X(kMeanOfFirst, "mean of the first") X(kTriplet, "best triplet") X(kElsewhere, "elsewhere")                        \
  X(kElsewhereSpread, "elsewhere spread") X(kElsewhereBest, "elsewhere best") X(kBeyond, "nearest beyond elsewhere")

// A place as numbers, in this order.
#define SKETCHSEEK_PLACE(X)                                                                                         \
  X(hit, "hit") X(picture, "picture") X(score, "score") X(confidence, "confidence") X(scale, "scale")               \
  X(mirrored, "mirrored") X(rotation, "rotation") X(dx, "dx") X(dy, "dy") X(box[0], "x0") X(box[1], "y0")           \
  X(box[2], "x1") X(box[3], "y1")

#define ENUMERATOR(name, text) name,
#define TEXT(name, text) text,
#define COUNT(...) +1
enum Evidence { SKETCHSEEK_EVIDENCE(ENUMERATOR) kEvidence };
enum Likeness { SKETCHSEEK_LIKENESS(ENUMERATOR) kLikeness };
inline constexpr const char* kEvidenceNames[] = {SKETCHSEEK_EVIDENCE(TEXT)};
inline constexpr const char* kLikenessNames[] = {SKETCHSEEK_LIKENESS(TEXT)};
inline constexpr const char* kPlaceNames[] = {SKETCHSEEK_PLACE(TEXT)};
constexpr int kPlaceFields = 0 SKETCHSEEK_PLACE(COUNT);
#undef ENUMERATOR
#undef TEXT
#undef COUNT

// How hits are judged.
constexpr int64_t kFirst = 5;         // hits whose mean evidence says, beside the first's, whether the thing is there
constexpr double kFarOut = 4;         // deviations from which on evidence hardly counts for more
constexpr double kLeastStep = 0.02;   // of log-odds, by which a hit's confidence falls to the next at least
constexpr double kLikelyFrom = 0.5;   // the chance of a first page from which on it likely has the thing
constexpr double kCopyFrom = 0.85;    // from this match on a hit begins to be a copy
constexpr double kNearlyAsHigh = 0.9; // of a hit's score: what the background is compared with
// Questions, by the share of line art or flat art and by the logarithm of how many pictures there are: three of each.
constexpr double kFlatFrom = 0.2, kFlatOnly = 0.8, kSmallTo = 1.5, kMediumTo = 2.5;
constexpr int kQuestions = 9;

// What a person may be told, here and in a browser.
namespace sentence {
constexpr char kBlank[] = "The drawing is blank, or a single dot: draw at least one line.";
constexpr char kScribble[] = "The drawing is scribble over everything: there is no shape in it to look for.";
constexpr char kTurn[] = "turn must be from 0 to 180 degrees.";
// What people put around the word that they mean.
inline constexpr const char* kCommonWords[] = {
    "a",     "an",   "and",  "any",  "as",    "at",     "by",         "for",     "from",     "in",    "is", "my", "of", "on", "or",
    "our",   "some", "that", "the",  "this",  "to",     "with",       "photo",   "photos",   "photograph", "picture", "pictures",
    "image"};
// What is said of an answer: `Verdict`.
inline constexpr const char* kVerdicts[] = {"Likely here", "Closest matches", "Probably not here"};
}  // namespace sentence

// The same as a JSON document, for those who read the engine's answers.
inline std::string describe_core() {
  std::string out = "{\"constants\": {\"candidates\": " + std::to_string(kCandidates) + ", \"few\": " + std::to_string(kFew) +
                    ", \"far out\": " + std::to_string(kFarOut) + ", \"turn step\": " + std::to_string(kTurnStep) + ", \"fine turn step\": " + std::to_string(kFineTurn) +
                    ", \"local normalization\": " + std::to_string(kLocalNormalization) +
                    ", \"coverage\": " + std::to_string(kCoverage) + ", \"same\": " + std::to_string(kSame) +
                    ", \"embedding\": " + std::to_string(kEmbedding) +
                    ", \"icon unseen\": " + std::to_string(kIconUnseen) +
                    ", \"icon blend beside\": " + std::to_string(kIconBlendBeside) +
                    ", \"compared\": " + std::to_string(kCompared) +
                    ", \"icon blend\": " + std::to_string(kIconBlend) + "}, \"names\": {";
#define ENTRY(name, text, value) out += std::string("\"") + text + "\": " + std::to_string(name) + ", ";
  SKETCHSEEK_NAMES(ENTRY)
#undef ENTRY
  out.replace(out.size() - 2, 2, "}");
  const auto list = [&](const char* key, const char* const* names, int count) {
    out += std::string(", \"") + key + "\": [";
    for (int i = 0; i < count; ++i) out += std::string(i ? ", \"" : "\"") + names[i] + "\"";
    out += "]";
  };
  list("evidence", kEvidenceNames, kEvidence);
  list("likeness", kLikenessNames, kLikeness);
  list("place", kPlaceNames, kPlaceFields);
  list("common words", sentence::kCommonWords, (int)std::size(sentence::kCommonWords));
  list("verdicts", sentence::kVerdicts, (int)std::size(sentence::kVerdicts));
  return out + ", \"questions\": " + std::to_string(kQuestions) + "}";
}

}  // namespace sketchseek
