// Keeps an open page up to date: reads it again, soon while it changes.
let changes, pause = 250;

// Makes a part like the new one. What stays keeps its focus, and moves.
function update(part, now) {
  if (part.nodeName !== now.nodeName || part.childNodes.length !== now.childNodes.length) {
    part.replaceWith(now);
    changes++;
  } else if (part.nodeType === Node.TEXT_NODE && part.data !== now.data) {
    part.data = now.data;
    changes++;
  } else if (part.nodeType === Node.ELEMENT_NODE) {
    for (const { name, value } of now.attributes) part.setAttribute(name, value);
    const parts = [...now.childNodes];
    [...part.childNodes].forEach((child, place) => update(child, parts[place]));
  }
}

async function watch() {
  const text = document.hidden ? "" : await fetch(location).then((page) => page.text());
  const page = new DOMParser().parseFromString(text, "text/html").querySelectorAll(".live");
  changes = 0;
  document.querySelectorAll(".live").forEach((part, place) => page[place] && update(part, page[place]));
  pause = changes ? 250 : Math.min(2 * pause, 2000);
}

const again = () => watch().catch(() => {}).finally(() => setTimeout(again, pause));
if (document.querySelector(".live")) again();
