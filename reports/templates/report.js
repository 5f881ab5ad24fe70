"use strict";
document.documentElement.className = "js";
// Everything below is an addition: without it the page shows the same facts.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

const buttonOf = (sheet) => document.querySelector(`.cell > [popovertarget="${CSS.escape(sheet)}"]`);

// A link into a closed part opens it, and so does one to a cell; another sheet is in no way then.
function reveal() {
  let name = location.hash.slice(1);
  try { name = decodeURIComponent(name); } catch { /* an address that somebody has typed */ }
  const target = document.getElementById(name);
  if (!target) return;
  all(":popover-open").forEach((sheet) => sheet.hidePopover());
  if (target.closest("[hidden]")) { form.reset(); filter(); }
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  const button = buttonOf(name);
  (button || target).scrollIntoView(button ? { block: "center" } : {});
  if (!button) return;
  button.focus({ preventScroll: true }); // where the focus is again once the sheet is closed
  target.showPopover();
}
addEventListener("hashchange", reveal);

// The address is that of the cell or claim which is open, to be sent to others.
function address(id, isOpen) {
  const own = new URL("#" + encodeURIComponent(id), location);
  if (isOpen) history.replaceState(null, "", own);
  else if (location.hash === own.hash) history.replaceState(null, "", location.pathname + location.search);
}
addEventListener("click", ({ target }) => {
  const claim = target.closest("details.claim > summary")?.parentElement;
  if (claim) address(claim.id, !claim.open);
});

// On paper nothing can be opened: what is printed is open from the start.
addEventListener("beforeprint", () => {
  if (form.everything.checked) all("details").forEach((part) => { part.open = true; });
});

// On a narrow screen the contents would push the results away.
if (matchMedia("(max-width: 66rem)").matches) document.getElementById("contents").open = false;

// What a verdict says stands once on the page; a sheet that opens takes it along.
function explain(sheet) {
  const word = sheet.querySelector("p > .word");
  const about = document.getElementById("about-cell-" + word?.classList[1]);
  if (!about || sheet.querySelector(".meaning")) return;
  const said = document.createElement("span");
  said.className = "meaning muted";
  said.textContent = `${word.textContent}: ${about.children[1].textContent}.`;
  word.parentElement.append(" ", said);
}

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
  if (!event.target.matches?.(".sheet")) return;
  all("code.command", event.target).forEach(addCopy);
  explain(event.target);
  buttonOf(event.target.id).classList.toggle("shown", event.newState === "open");
  address(event.target.id, event.newState === "open");
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
listed: all(".claims li").map((row) => [row, row.textContent.toLowerCase()]) });

function filter() {
  index ??= read();
  const { tables, listed } = index;
  const words = form.words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const [kind, word] = form.word.value.split(" ");
  const flagged = form.flagged.checked;
  const says = (text) => words.every((one) => text.includes(one));
  const narrowed = Boolean(word || flagged);
  const wanted = (cell) =>
    kind !== "claim" && (!word || cell.classList.contains(word)) && (!flagged || cell.classList.contains("flagged"));
  const wantedClaim = (claim) =>
    !narrowed || (kind === "claim" && !flagged && claim.classList.contains(word));
  let shown = 0, cells = 0, found = 0;
  for (const { section, head, rows, claims } of tables) {
    let any = !narrowed && says(head);
    for (const [row, text] of rows) {
      const matching = all("td.cell", row).filter(wanted);
      row.hidden = !(says(head + " " + text) && (matching.length || !narrowed));
      for (const cell of all("td.cell", row)) cell.classList.toggle("dim", narrowed && !wanted(cell));
      if (!row.hidden) { any = true; cells += matching.length; }
    }
    for (const [claim, text] of claims) {
      claim.hidden = !(says(head + " " + text) && wantedClaim(claim));
      if (!claim.hidden) { any = true; found += 1; }
    }
    section.hidden = !any;
    shown += any;
  }
  for (const [row, text] of listed) row.hidden = !(says(text) && wantedClaim(row));
  for (const paper of all(".paper")) {
    paper.hidden = Boolean(words.length || narrowed) && !all("section.table:not([hidden])", paper).length;
  }
  form.found.textContent = words.length || narrowed ? `${shown} tables, ${cells} cells, ${found} claims` : "";
  const kept = new URLSearchParams(new FormData(form)).toString();
  const asked = words.length || narrowed;
  if (asked || location.hash.startsWith("#find?")) history.replaceState(null, "", asked ? "#find?" + kept : location.pathname + location.search);
  document.documentElement.classList.toggle("everything", form.everything.checked);
}

// A column is sorted by what stands here, or by what is printed where nothing does.
const valueOf = (cell) => parseFloat((cell.querySelector(".here") ?? cell).textContent.replace("−", "-").replace(/[^0-9.eE+-]/g, ""));
for (const head of all(".grid thead tr:last-child th")) {
  head.classList.add("sortable");
  head.addEventListener("click", () => {
    const body = head.closest("table").tBodies[0], rows = [...body.rows];
    const cells = [...head.parentElement.children], back = cells.length - cells.indexOf(head);
    const key = (row) => { const value = valueOf(row.cells[row.cells.length - back]); return Number.isNaN(value) ? -Infinity : value; };
    const down = head.dataset.sorted !== "down";
    head.dataset.sorted = down ? "down" : "up";
    body.append(...rows.sort((a, b) => (down ? 1 : -1) * (key(b) - key(a))));
  });
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
if (location.hash.startsWith("#find?")) {
  for (const [name, value] of new URLSearchParams(location.hash.slice(6))) {
    if (form[name].type === "checkbox") form[name].checked = true; else form[name].value = value;
  }
}
if (form.words.value || form.word.value || form.flagged.checked || form.everything.checked) filter();
// Not before: until then a browser goes to the place in the address by itself, and takes the focus.
addEventListener("load", reveal);
