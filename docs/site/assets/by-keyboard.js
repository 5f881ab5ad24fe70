// What the theme leaves out for a reader by keyboard or by ear: what scrolls can be reached, the
// search has a name, and a copy button is no landmark. The theme makes some of it after loading.
"use strict";
const scrolling = ".md-typeset__scrollwrap, .md-typeset__table, .md-typeset pre > code, .md-typeset table";

function reach() {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  for (const buttons of document.querySelectorAll(".md-code__nav")) buttons.setAttribute("role", "none");
  for (const one of document.querySelectorAll(scrolling)) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
  }
}

new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", reach);
addEventListener("load", reach);
reach();
