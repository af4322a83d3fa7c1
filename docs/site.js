// Wide tables can be scrolled with the keyboard.
addEventListener("load", () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap")) if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
});
