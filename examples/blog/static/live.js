// Keeps the live parts of an open page up to date: reads their page again, soon while they change.
let changes;

// Makes a part like the new one. What stays keeps its focus, and moves.
function update(part, now) {
  if (part.nodeName !== now.nodeName || part.childNodes.length !== now.childNodes.length) {
    part.replaceWith(now);
    changes++;
  } else if (part.nodeType === Node.TEXT_NODE && part.data !== now.data) {
    part.data = now.data;
    changes++;
  } else if (part.nodeType === Node.ELEMENT_NODE) {
    for (const { name } of [...part.attributes]) if (!now.hasAttribute(name)) part.removeAttribute(name);
    for (const { name, value } of now.attributes) part.setAttribute(name, value);
    const parts = [...now.childNodes];
    [...part.childNodes].forEach((child, place) => update(child, parts[place]));
  }
}

// Follows the parts that come from this page. Returns how soon to ask again.
async function follow(from, selector, pause) {
  // The header tells the server that nobody opens the page, so that this is no view.
  const ask = () => fetch(from, { headers: { "x-live": "1" } }).then((page) => page.text());
  const text = document.hidden ? "" : await ask();
  const page = new DOMParser().parseFromString(text, "text/html").querySelectorAll(selector);
  changes = 0;
  document.querySelectorAll(selector).forEach((part, place) => page[place] && update(part, page[place]));
  return changes ? 250 : Math.min(2 * pause, 2000);
}

function watch(from, selector, pause = 250) {
  if (!document.querySelector(selector)) return;
  const again = (next) => setTimeout(() => watch(from, selector, next), next);
  follow(from, selector, pause).then(again, () => again(pause));
}

watch(location, ".live:not([data-from])");
// The race is a page of its own, so that following it does not read the articles.
watch("/race", ".live[data-from='/race']");
