// Keeps the site for when there is no network. SITE, above, lists the files of this version, which belong together.
const CACHE = `sketchseek ${registration.scope} ${SITE.version}`;

addEventListener("install", (event) => {
  const all = async () => {
    const cache = await caches.open(CACHE);
    await cache.addAll(SITE.files.map((name) => new Request(name, { cache: "no-cache" })));
    await skipWaiting();
  };
  event.waitUntil(all());
});

addEventListener("activate", (event) => {
  const tidy = async () => {
    const mine = (await caches.keys()).filter((name) => name.startsWith(`sketchseek ${registration.scope} `));
    await Promise.all(mine.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
    await clients.claim();
  };
  event.waitUntil(tidy());
});

/** The thumbnails, one file after the other, when the page has nothing more urgent. */
addEventListener("message", (event) => {
  const keep = async () => {
    const cache = await caches.open(CACHE);
    for (const name of SITE.later) if (!(await cache.match(name))) await cache.add(name).catch(() => {});
  };
  if (event.data === "keep") event.waitUntil(keep());
});

addEventListener("fetch", (event) => {
  const { request } = event;
  const address = new URL(request.url);
  if (request.method !== "GET" || !address.href.startsWith(registration.scope)) return;
  const answer = async () => {
    const cache = await caches.open(CACHE);
    const isPage = request.mode === "navigate" && address.pathname.replace(/index\.html$/, "") === new URL(registration.scope).pathname;
    const kept = await cache.match(isPage ? "./" : request.url, { ignoreSearch: isPage });
    if (kept) return kept;
    const response = await fetch(request);
    if ([200, 206].includes(response.status) && address.pathname.includes("/data/")) event.waitUntil(keepAnswer(cache, request, response.clone()));
    return response;
  };
  event.respondWith(answer());
});

/** Keep an answer where there is room. A part of a file, which has an address of its own (engine/pieces.js), is kept as a whole one. */
async function keepAnswer(cache, request, response) {
  const isPart = request.headers.has("range");
  if (isPart !== (response.status === 206)) return;
  const kept = isPart ? new Response(await response.arrayBuffer(), { headers: { "content-type": "application/octet-stream" } }) : response;
  await cache.put(request.url, kept).catch(() => {});
}
