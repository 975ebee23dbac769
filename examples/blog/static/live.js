// Keeps an open page up to date: reads it again, soon while it changes. Without scripts, a page is up to
// date when it is loaded again.
const animations = !matchMedia("(prefers-reduced-motion)").matches;
let changes = 0;

// Makes a part like the new one. What stays keeps its focus, and moves.
function update(part, now) {
  if (part.nodeName !== now.nodeName || part.childNodes.length !== now.childNodes.length) {
    changes += 1;
    part.replaceWith(now);
  } else if (part.nodeType === Node.TEXT_NODE && part.data !== now.data) {
    changes += 1;
    part.data = now.data;
    if (animations) part.parentNode.animate({ color: ["var(--ground)", "inherit"] }, 700);
  } else if (part.nodeType === Node.ELEMENT_NODE) {
    for (const { name, value } of now.attributes) part.setAttribute(name, value);
    const children = [...now.childNodes];
    [...part.childNodes].forEach((child, place) => update(child, children[place]));
  }
}

async function watch() {
  changes = 0;
  if (!document.hidden) {
    const page = await fetch(location).then((answer) => answer.text());
    const parts = new DOMParser().parseFromString(page, "text/html").querySelectorAll(".live");
    document.querySelectorAll(".live").forEach((part, place) => update(part, parts[place]));
  }
}

const again = () => watch().catch(() => {}).finally(() => setTimeout(again, changes ? 250 : 2000));
if (document.querySelector(".live")) again();
