// Moves the numbers of an open page. Without scripts, they move when the page is loaded again.
const articles = document.querySelector("[data-live]")?.dataset.live;
let stream;

function watch() {
  stream?.close();
  // A browser opens six connections to a host, so hidden tabs give theirs up.
  if (document.hidden) return;
  stream = new EventSource("/live?articles=" + articles);
  stream.onmessage = (event) => JSON.parse(event.data).forEach(show);
  stream.onerror = ({ target }) => {
    // The browser does not try again after an answer such as 503.
    if (target === stream && target.readyState === EventSource.CLOSED) setTimeout(watch, 5000);
  };
}

function show([article, counts]) {
  for (const [name, count] of Object.entries(counts)) {
    const element = document.querySelector(`[data-count="${article} ${name}"]`);
    const text = count.toLocaleString("en");
    if (!element || element.textContent === text) continue;
    element.textContent = text;
    element.classList.remove("moved");
    element.offsetWidth; // ends the last animation, so that it begins again
    element.classList.add("moved");
  }
}

if (articles) {
  document.addEventListener("visibilitychange", watch);
  watch();
}
