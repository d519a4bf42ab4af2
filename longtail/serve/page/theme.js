// Runs before the first paint, so that a chosen theme does not flash in the other one.
"use strict";
(() => {
  const CHOICES = ["automatic", "light", "dark"];
  const read = () => {
    try {
      return localStorage.getItem("longtail-theme") || CHOICES[0];
    } catch {
      return CHOICES[0]; // storage is switched off: the system decides
    }
  };
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Theme: ${theme}`;
  };
  const next = () => {
    const theme = CHOICES[(CHOICES.indexOf(read()) + 1) % CHOICES.length];
    try {
      localStorage.setItem("longtail-theme", theme);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    show(theme);
  };
  show(read());
  document.addEventListener("DOMContentLoaded", () => {
    show(read());
    document.getElementById("theme").addEventListener("click", next);
  });
})();
