"use strict";
// Everything below is an addition: without it the page shows the same facts.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// A link into a closed part opens it, and a sheet does not hide where it leads.
function reveal() {
  let name = location.hash.slice(1);
  try { name = decodeURIComponent(name); } catch { /* an address that somebody has typed */ }
  const target = document.getElementById(name);
  if (!target) return;
  all(":popover-open").forEach((sheet) => sheet.hidePopover());
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

// On paper nothing can be opened, so what was judged is open from the start.
addEventListener("beforeprint", () =>
  all("details.claim:not(.not-run), details.forests, details.part").forEach((part) => { part.open = true; }));

// On a narrow screen the contents would push the results away.
if (matchMedia("(max-width: 66rem)").matches) document.getElementById("contents").open = false;

function addCopy(code) {
  if (!navigator.clipboard || code.nextElementSibling?.className === "copy") return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
  code.after(" ", button);
}
all(".rerun code.command").forEach(addCopy);
// A thousand sheets get theirs when they open. The event does not bubble, so it is caught.
addEventListener("toggle", (event) => {
  if (event.target.matches?.(".sheet")) all("code.command", event.target).forEach(addCopy);
}, true);

const form = document.getElementById("filter");
form.hidden = false;

// What is searched is read at the first search: a page that is only looked at opens faster.
let index = null;
const read = () => ({ tables: all("section.table").map((section) => ({
  section,
  head: section.querySelector("h3").textContent.toLowerCase() + " " + section.closest(".paper").id,
  rows: all(".grid tbody tr", section).map((row) => [row, row.textContent.toLowerCase()]),
  claims: all("details.claim", section).map((claim) => [claim, claim.textContent.toLowerCase()]),
})),
overviews: all(".claims tbody tr").map((row) => [row, row.textContent.toLowerCase()]) });

function filter() {
  index ??= read();
  const { tables, overviews } = index;
  const words = form.words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const verdict = form.verdict.value;
  const flagged = form.flagged.checked;
  const says = (text) => words.every((word) => text.includes(word));
  const wanted = (cell) =>
    (!verdict || cell.classList.contains(verdict)) && (!flagged || cell.classList.contains("flagged"));
  const narrowed = Boolean(verdict || flagged);
  let shown = 0, cells = 0;
  for (const { section, head, rows, claims } of tables) {
    let any = !narrowed && says(head);
    for (const [row, text] of rows) {
      const matching = all("td.cell", row).filter(wanted);
      row.hidden = !(says(head + " " + text) && (matching.length || !narrowed));
      for (const cell of all("td.cell", row)) cell.classList.toggle("dim", narrowed && !wanted(cell));
      if (!row.hidden) { any = true; cells += matching.length; }
    }
    for (const [claim, text] of claims) {
      claim.hidden = !says(head + " " + text);
      if (!claim.hidden && !narrowed) any = true;
    }
    section.hidden = !any;
    shown += any;
  }
  for (const [row, text] of overviews) row.hidden = !says(text);
  for (const paper of all(".paper")) {
    paper.hidden = Boolean(words.length || narrowed) && !all("section.table:not([hidden])", paper).length;
  }
  form.found.textContent = words.length || narrowed ? `${shown} tables, ${cells} cells` : "";
}
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => { event.preventDefault(); filter(); });
form.addEventListener("reset", () => setTimeout(filter));
addEventListener("keydown", (event) => {
  if (event.key === "/" && !/input|select|textarea/i.test(event.target.tagName)) {
    event.preventDefault();
    form.words.focus();
  }
});
// A browser may keep what was typed when the page is loaded again.
if (form.words.value || form.verdict.value || form.flagged.checked) filter();
