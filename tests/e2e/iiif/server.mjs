// A museum: iiif-processor over a folder of pictures, its documents beside them, and an index behind /seek as a
// web server in front of it would have it. /asked says how often each picture was.
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, request as ask } from "node:http";
import { Processor } from "iiif-processor";

const [folder] = process.argv.slice(2);
const asked = {};
const KINDS = { html: "text/html", js: "text/javascript", json: "application/json" };
let seek = 0; // the port of `sketchseek serve`
let pause = 0; // ms before each picture

async function answer(request, response) {
  const url = new URL(request.url, `http://${request.headers.host}`);
  if (url.pathname.startsWith("/seek/")) {
    const { method, headers } = request;
    const there = ask({ port: seek, path: request.url, method, headers }, (given) => {
      response.writeHead(given.statusCode, given.headers);
      given.pipe(response);
    });
    there.on("error", () => response.writeHead(502).end());
    return request.pipe(there);
  }
  if (url.pathname === "/asked") return response.end(JSON.stringify(asked));
  if (url.pathname === "/set") {
    seek = Number(url.searchParams.get("seek") ?? seek);
    pause = Number(url.searchParams.get("pause") ?? pause);
    return response.end();
  }
  if (url.pathname.startsWith("/iiif/3/")) {
    if (url.pathname.endsWith(".jpg")) asked[url.pathname.split("/")[3]] = (asked[url.pathname.split("/")[3]] ?? 0) + 1;
    await new Promise((done) => setTimeout(done, pause));
    const source = ({ id }) => Promise.resolve(createReadStream(`${folder}/${id}.jpg`));
    const made = await new Processor(url.href, source).execute();
    if (made.type !== "content") return response.writeHead(made.statusCode ?? 302, made.location ? { location: made.location } : {}).end();
    return response.setHeader("content-type", made.contentType).end(made.body);
  }
  response.setHeader("content-type", KINDS[url.pathname.split(".").at(-1)] ?? "application/octet-stream");
  return response.end(await readFile(folder + url.pathname));
}

const server = createServer((request, response) => {
  answer(request, response).catch((problem) => response.writeHead(problem.statusCode ?? 404).end());
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
